"""One design point, from model, strategy and system to a row of results: a pure function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dse.errors import SimulationError, SimulationTimeout
from dse.models import ModelSpec
from dse.results import Status, StudyRow
from dse.simulators import NativeSimulator, Outcome, RankMetrics, Simulator, make_simulator
from dse.strategies import InfeasibleStrategy, Strategy
from dse.systems import SystemSpec
from dse.workloads import NativeGenerator, Workload, WorkloadGenerator, make_generator
from dse.workloads.generate import Divisibility

if TYPE_CHECKING:
    from dse.config import Config


@dataclass(frozen=True)
class DesignPoint:
    """What a row of a study depends on."""

    study: str
    model: ModelSpec
    strategy: Strategy
    system: SystemSpec
    divisibility: Divisibility = "stage"
    simulator: Simulator = field(default_factory=NativeSimulator)
    generator: WorkloadGenerator = field(default_factory=NativeGenerator)

    def stop(self) -> None:
        """End the programs that evaluate this point, if any run."""
        self.generator.stop()
        self.simulator.stop()


def point_of(config: Config, strategy: Strategy) -> DesignPoint:
    """Return the design point of a configuration with another strategy.

    Raises:
        InputError: the program of a simulator or generator is missing.
    """
    return DesignPoint(
        study=config.study,
        model=config.model,
        strategy=strategy,
        system=config.system,
        divisibility=config.workload.divisibility,
        simulator=make_simulator(config.simulator),
        generator=make_generator(config.workload),
    )


def run_point(point: DesignPoint) -> tuple[Workload, Outcome]:
    """Generate the workload and simulate it.

    Raises:
        InfeasibleStrategy: no workload exists, or the strategy and the network differ in their NPUs.
        SimulationError, SimulationTimeout, InputError: see `Simulator.simulate` and
            `WorkloadGenerator.generate`.
    """
    npus = point.system.npus
    if point.strategy.npus != npus:
        s = point.strategy
        raise InfeasibleStrategy(
            f"strategy {s.label()} needs dp*tp*sp*pp = {s.npus} NPUs, "
            f"but system {point.system.name} has {npus}"
        )
    workload = point.generator.generate(point.model, point.strategy, point.divisibility)
    return workload, point.simulator.simulate(workload, point.system)


def evaluate(point: DesignPoint) -> StudyRow:
    """Return the row of a point; infeasible, failed, late and deadlocked points are rows with a reason.

    Raises:
        InputError: the input is wrong in a way that concerns every point, such as an unsupported network.
    """
    try:
        workload, outcome = run_point(point)
    except InfeasibleStrategy as error:
        return _row(point, "infeasible", str(error))
    except SimulationError as error:
        return _row(point, "failed", str(error))
    except SimulationTimeout as error:
        return _row(point, "timeout", str(error))
    if outcome.status == "deadlock":
        return _row(point, "deadlock", outcome.reason, fractional=workload.is_fractional)
    return _metrics_row(point, workload, outcome)


def _row(
    point: DesignPoint,
    status: Status,
    reason: str,
    *,
    fractional: bool = False,
    **metrics: int | float | None,
) -> StudyRow:
    strategy = point.strategy
    return StudyRow(
        study=point.study,
        model=point.model.name,
        system=point.system.name,
        dp=strategy.dp,
        tp=strategy.tp,
        sp=strategy.sp,
        pp=strategy.pp,
        weight_sharded=strategy.weight_sharded,
        activation_recompute=strategy.activation_recompute,
        status=status,
        reason=reason,
        fractional=fractional,
        npus=point.system.npus,
        **metrics,  # type: ignore[arg-type]
    )


def _metrics_row(point: DesignPoint, workload: Workload, outcome: Outcome) -> StudyRow:
    """Wall time and peak memory are maxima; the rest is the last rank's, the lowest id on ties."""
    classes = [metrics for metrics in outcome.classes if metrics is not None]
    last: RankMetrics = max(classes, key=lambda metrics: metrics.finish_ns)  # the first one on ties
    rank0 = outcome.rank(0)
    assert rank0 is not None
    peaks = [metrics.peak_memory_bytes for metrics in classes if metrics.peak_memory_bytes is not None]
    return _row(
        point,
        "ok",
        "",
        fractional=workload.is_fractional,
        wall_time_ns=max(metrics.wall_time_ns for metrics in classes),
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
    )
