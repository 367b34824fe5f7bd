"""One design point, from model, strategy and system to a row of results: a pure function."""

from __future__ import annotations

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.inputs.strategies import (
    STRATEGY_FIELDS,
    InfeasibleStrategy,
    Strategy,
    broken_units,
    shown_axes,
    strategy_values,
)
from dse.prediction.steps.prediction import Prediction
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics, Recording
from dse.simulation.simulators.algorithms import uses_synthesis
from dse.simulation.simulators.understated import understated_communication
from dse.simulation.workloads import Workload
from dse.studies.points.memory import short_of_memory
from dse.studies.points.point import DesignPoint, ScenarioInputs, scenario_of
from dse.studies.points.predicted import metrics, predict_point
from dse.studies.points.utilization import throughput
from dse.studies.store import Status, StudyRow


def point_of(config: ScenarioInputs, strategy: Strategy) -> DesignPoint:
    """Return the design point of a configuration with another strategy.

    Raises:
        InputError: the program of a simulator or generator is missing.
    """
    return DesignPoint(scenario_of(config), strategy)


def run_point(point: DesignPoint) -> tuple[Workload, Outcome]:
    """Generate the workload and simulate it.

    Raises:
        InfeasibleStrategy: no workload exists, the strategy and the network differ in their NPUs, or NPUs of
            a type have too little memory.
        SimulationError, SimulationTimeout, InputError: see `Simulator.simulate` and
            `WorkloadGenerator.generate`.
    """
    workload = workload_of(point)
    outcome = point.scenario.simulator.simulate(workload, point.scenario.system)
    if problem := short_of_memory(point.scenario.system, outcome):
        raise InfeasibleStrategy(f"too little memory on {problem}")
    return workload, outcome


def record_point(point: DesignPoint, *, decisive_only: bool = False) -> Recording:
    """Generate the workload and simulate it with our engine, which records what happens when.

    Raises:
        InfeasibleStrategy: as `run_point`; ranks that deadlock are in the recording.
        InputError: the point is predicted, so that nothing happens in an engine.
    """
    if point.scenario.is_predicted:
        raise InputError(
            f"{point.strategy.label()} on {point.scenario.system.name} is predicted from the structure of "
            "the step, so no engine records what happens when: model.fidelity=stage simulates traces"
        )
    return NativeSimulator().record(
        workload_of(point), point.scenario.system, strategy=point.strategy, decisive_only=decisive_only
    )


def workload_of(point: DesignPoint) -> Workload:
    """Generate the workload.

    Raises:
        InfeasibleStrategy, SimulationError, SimulationTimeout, InputError: as `run_point`.
    """
    on, strategy = point.scenario, point.strategy
    on.check()
    _require_filled(point)
    return on.generator.generate(on.model, strategy, on.resolved_divisibility)


def prediction_of(point: DesignPoint) -> Prediction:
    """Return the prediction of a point whose scenario `is_predicted`.

    Raises:
        InfeasibleStrategy: the strategy cannot run, or does not fill the system.
        InputError: a setting of the scenario has no effect on predictions.
    """
    _require_filled(point)
    return predict_point(point)


def _require_filled(point: DesignPoint) -> None:
    on, strategy = point.scenario, point.strategy
    if strategy.npus != on.system.npus:
        raise InfeasibleStrategy(
            f"strategy {strategy.label()} needs {'*'.join(_counted(strategy))} = {strategy.npus} NPUs, "
            f"but system {on.system.name} has {on.system.npus}"
        )


def _counted(strategy: Strategy) -> list[str]:
    """The degrees that a message multiplies: those of a later release only where they are not 1."""
    return [axis.name for axis in shown_axes([strategy_values(strategy)]) if axis.is_degree]


def evaluate(point: DesignPoint) -> StudyRow:
    """Return the row of a point; infeasible, failed, late and deadlocked points are rows with a reason.

    Raises:
        InputError: the input is wrong in a way that concerns every point, such as an unsupported network.
    """
    try:
        if point.scenario.is_predicted:
            return _row(point, "ok", "", **metrics(point, prediction_of(point)))
        workload, outcome = run_point(point)
    except InfeasibleStrategy as error:
        return _row(point, "infeasible", str(error))
    except SimulationError as error:
        return _row(point, "failed", str(error))
    except SimulationTimeout as error:
        return _row(point, "timeout", str(error))
    if outcome.status == "deadlock":
        return _row(point, "deadlock", outcome.reason, fractional=workload.is_fractional, **doubts(point))
    return _metrics_row(point, workload, outcome)


def failed_row(point: DesignPoint, status: Status, reason: str) -> StudyRow:
    """Return the row of a point that could not be evaluated, such as one that ends its process."""
    return _row(point, status, reason)


def _row(
    point: DesignPoint,
    status: Status,
    reason: str,
    *,
    fractional: bool = False,
    **metrics: int | float | str | None,
) -> StudyRow:
    on, strategy = point.scenario, point.strategy
    return StudyRow(
        study=on.study,
        model=on.model.name,
        system=on.system.name,
        **dict(zip(STRATEGY_FIELDS, strategy_values(strategy), strict=True)),
        status=status,
        reason=reason,
        fractional=fractional,
        npus=on.system.npus,
        key=point.key,
        model_spec=on.model_spec,
        system_spec=on.system_spec,
        options=on.options,
        **metrics,  # type: ignore[arg-type]
    )


def doubts(point: DesignPoint) -> dict[str, str | None]:
    """Return the columns that say why a point's time is not that of a real machine; None if nothing is known.

    Raises:
        InputError: a file of the system cannot be read.
    """
    on, strategy = point.scenario, point.strategy
    native = not on.simulator.is_external
    return {
        "understated_comm": understated_communication(on.model, strategy, on.system) if native else None,
        "impossible_split": "; ".join(broken_units(on.model, strategy)) or None,
    }


def _schedules(point: DesignPoint, workload: Workload) -> str | None:
    on = point.scenario
    if on.simulator.is_external or not uses_synthesis(on.system):
        return None
    from dse.simulation.simulators.synthesized import quality_of_schedules

    return quality_of_schedules(on.system, workload.native)


def _metrics_row(point: DesignPoint, workload: Workload, outcome: Outcome) -> StudyRow:
    """Wall time and peak memory are maxima; the rest is the last rank's, the lowest id on ties."""
    classes = [metrics for metrics in outcome.classes if metrics is not None]
    last: RankMetrics = max(classes, key=lambda metrics: metrics.finish_ns)  # the first one on ties
    rank0 = outcome.rank(0)
    assert rank0 is not None
    peaks = [metrics.peak_memory_bytes for metrics in classes if metrics.peak_memory_bytes is not None]
    wall_time_ns = max(metrics.wall_time_ns for metrics in classes)
    return _row(
        point,
        "ok",
        "",
        fractional=workload.is_fractional,
        wall_time_ns=wall_time_ns,
        gpu_time_ns=last.gpu_time_ns,
        comm_time_ns=last.comm_time_ns,
        exposed_comm_ns=last.exposed_comm_ns,
        compute_bound_pct=last.compute_bound_pct,
        compute_utilization_pct=last.compute_utilization_pct,
        memory_utilization_pct=last.memory_utilization_pct,
        operation_intensity=last.operation_intensity,
        peak_memory_bytes=max(peaks) if peaks else None,
        rank0_wall_time_ns=rank0.wall_time_ns,
        rank0_peak_memory_bytes=rank0.peak_memory_bytes,
        last_rank=list(outcome.class_of_rank).index(outcome.classes.index(last)),
        rank_classes=len(outcome.classes),
        schedules=_schedules(point, workload),
        **doubts(point),
        **throughput(point, wall_time_ns, is_fractional=workload.is_fractional),
    )
