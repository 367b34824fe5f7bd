"""Design points: what is evaluated, its key, and its evaluation to one row of results."""

from dse.points.evaluate import evaluate, failed_row, point_of, run_point
from dse.points.point import DesignPoint, Scenario, scenario_of

__all__ = ["DesignPoint", "Scenario", "evaluate", "failed_row", "point_of", "run_point", "scenario_of"]
