"""One design point, from model, strategy and system to a row of results: a pure function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.base.errors import SimulationError, SimulationTimeout
from dse.base.lazy import np, pa
from dse.base.settings import check_type
from dse.inputs.strategies import STRATEGY_FIELDS, InfeasibleStrategy, Strategy, strategy_values
from dse.simulation.simulators import Recording
from dse.studies.points.methods import Answer
from dse.studies.points.point import DesignPoint, ScenarioInputs, scenario_of
from dse.studies.store import POINTS, Status, StudyRow

if TYPE_CHECKING:
    from dse.studies.points.blocks import PointBlock


def point_of(config: ScenarioInputs, strategy: Strategy) -> DesignPoint:
    """Return the design point of a configuration with another strategy.

    Raises:
        InputError: the program of a simulator or generator is missing.
    """
    check_type("point_of: config", config, ScenarioInputs, "a configuration, such as dse.compose_config([])")
    check_type("point_of: strategy", strategy, Strategy, "a strategy, such as dse.Strategy(dp=4)")
    return DesignPoint(scenario_of(config), strategy)


def record_point(point: DesignPoint, *, decisive_only: bool = False) -> Recording:
    """Record what happens when a point is evaluated; `decisive_only` leaves out ranks that do not decide.

    Raises:
        InfeasibleStrategy: as `evaluate`; ranks that deadlock are in the recording.
        InputError: the point is predicted, so that nothing happens in an engine.
    """
    return point.scenario.method.record(point, decisive_only=decisive_only)


def evaluate(point: DesignPoint) -> StudyRow:
    """Return the row of a point; infeasible, failed, late and deadlocked points are rows with a reason.

    Raises:
        InputError: the input is wrong in a way that concerns every point, such as an unsupported network.
    """
    try:
        return _in_time(point)
    except SimulationTimeout as error:
        return failed_row(point, "timeout", str(error))


def _in_time(point: DesignPoint) -> StudyRow:
    """Return the row of a point.

    Raises:
        SimulationTimeout: it takes too long.
        InputError: as `evaluate`.
    """
    try:
        return _row(point, point.scenario.method.answer(point))
    except InfeasibleStrategy as error:
        return failed_row(point, "infeasible", str(error))
    except SimulationError as error:
        return failed_row(point, "failed", str(error))


def evaluate_block(block: PointBlock) -> pa.Table:
    """Return the rows of the first points of a block that is answered as one: all, unless that takes long.

    Raises:
        SimulationTimeout: it takes longer than a point may.
        InputError: as `evaluate`.
    """
    answers = block.scenario.method.answer_all(block)
    count = len(answers.reason_of)
    done = block if count == len(block) else block.take(slice(count))
    table = done.table(answers)
    if not answers.left:
        return table
    is_known = np.ones(count, bool)
    is_known[list(answers.left)] = False
    others = POINTS.table([_in_time(done.point(place)) for place in answers.left])
    return pa.concat_tables([table.filter(pa.array(is_known)), others])


def failed_row(point: DesignPoint, status: Status, reason: str) -> StudyRow:
    """Return the row of a point that could not be evaluated, such as one that ends its process."""
    return _row(point, Answer(status, reason))


def _row(point: DesignPoint, answer: Answer) -> StudyRow:
    on, strategy = point.scenario, point.strategy
    return StudyRow(
        study=on.study,
        model=on.model.name,
        system=on.system.name,
        **dict(zip(STRATEGY_FIELDS, strategy_values(strategy), strict=True)),
        status=answer.status,
        reason=answer.reason,
        npus=on.system.npus,
        key=point.key,
        model_spec=on.model_spec,
        system_spec=on.system_spec,
        options=on.options,
        **{"fractional": False, **answer.columns},
    )
