"""How executors evaluate design points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.inputs.strategies import Strategy
from dse.studies.evaluator import Evaluator
from dse.studies.points.evaluate import evaluate, evaluate_block, failed_row
from dse.studies.points.point import DesignPoint, Scenario
from dse.studies.store.schema import POINTS, Status, StudyRow

if TYPE_CHECKING:
    from dse.simulation.simulators import Simulator
    from dse.simulation.workloads import WorkloadGenerator
    from dse.studies.points.blocks import PointBlock


class PointEvaluator(Evaluator[DesignPoint, StudyRow]):
    """Points are many and short; those of a scenario share it."""

    record = POINTS
    takes_long = False

    def evaluate(self, case: DesignPoint | PointBlock) -> Any:
        """Return the row of a point, or the table of a block; see `Evaluator.evaluate`."""
        return evaluate(case) if isinstance(case, DesignPoint) else evaluate_block(case)

    def failed(self, case: DesignPoint, status: Status, reason: str) -> StudyRow:
        """See `Evaluator.failed`."""
        return failed_row(case, status, reason)

    def split(self, case: DesignPoint) -> tuple[Scenario, Strategy]:
        """See `Evaluator.split`."""
        return case.scenario, case.strategy

    def join(self, shared: Scenario, rest: Strategy) -> DesignPoint:
        """See `Evaluator.join`."""
        return DesignPoint(shared, rest)

    def programs(self, case: DesignPoint) -> tuple[WorkloadGenerator, Simulator]:
        """See `Evaluator.programs`."""
        return case.scenario.generator, case.scenario.simulator
