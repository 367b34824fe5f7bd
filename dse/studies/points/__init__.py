"""Design points: what is evaluated, its key, and its evaluation to one row of results."""

from dse.studies.points.evaluate import evaluate, failed_row, point_of, record_point
from dse.studies.points.methods import PREDICTION, SIMULATION, Method, method_of_options
from dse.studies.points.methods.prediction import prediction_of
from dse.studies.points.methods.simulation import doubts, run_point
from dse.studies.points.point import DesignPoint, Scenario, ScenarioInputs, scenario_of
from dse.studies.points.stored import point_of_row, strategy_of_row
from dse.studies.points.utilization import model_operations, model_utilization, tokens_per_s

__all__ = [
    "PREDICTION",
    "SIMULATION",
    "DesignPoint",
    "Method",
    "Scenario",
    "ScenarioInputs",
    "doubts",
    "evaluate",
    "failed_row",
    "method_of_options",
    "model_operations",
    "model_utilization",
    "point_of",
    "point_of_row",
    "prediction_of",
    "record_point",
    "run_point",
    "scenario_of",
    "strategy_of_row",
    "tokens_per_s",
]
