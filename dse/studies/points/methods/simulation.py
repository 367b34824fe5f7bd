"""Points that a simulator answers from the execution traces of every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.base.errors import InputError
from dse.base.units import format_bytes
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS
from dse.inputs.strategies import InfeasibleStrategy, broken_units, is_feasible
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.fields import ABILITIES
from dse.simulation.simulators import NativeSimulator, Outcome, RankMetrics, Recording
from dse.simulation.simulators.synthesized import quality_of_schedules, uses_synthesis
from dse.simulation.simulators.understated import understated_communication
from dse.simulation.workloads import DEFAULT_REFERENCE, NativeGenerator, Workload
from dse.studies.points.methods.method import (
    Answer,
    Answers,
    Block,
    Inputs,
    Method,
    Point,
    Varied,
    require_filled,
)
from dse.studies.points.utilization import throughput

_OF_LAST_RANK = (
    *("gpu_time_ns", "comm_time_ns", "exposed_comm_ns", "compute_bound_pct", "compute_utilization_pct"),
    *("memory_utilization_pct", "operation_intensity"),
)


class TraceSimulation(Method):
    """Generates the traces of a step and simulates them, with our programs or the user's own."""

    name = "simulation"
    costs_by_stages = True
    cost_axes = ("dp", "pp", "weight_sharded")

    def answers(self, on: Inputs) -> bool:
        """See `Method.answers`: traces are there for every scenario."""
        del on
        return True

    def check(self, on: Inputs) -> None:
        """See `Method.check`: settings that only predictions have."""
        if on.system.group_algorithms != DEFAULT_ALGORITHMS:
            raise InputError(
                f"system.group_algorithms changes predictions only, and {on.model.name} on {on.system.name} "
                "is simulated: leave it out, or write model.fidelity=realistic; the engine has "
                "system.collectives"
            )
        for key in ABILITIES:
            if not getattr(on.system, key) and not uses_synthesis(on.system):
                raise InputError(
                    f"system.{key}=false is of synthesised collectives, and {on.system.name} has none: "
                    "leave it out, or write system.collectives.all_reduce=[synthesized]"
                )
        if on.run is not None:
            raise InputError(
                f"run and its keys are of predicted steps, and {on.model.name} on {on.system.name} is "
                "simulated: leave them out, or sweep a cluster (system=dgx_h100) under "
                "model.fidelity=realistic"
            )

    def is_feasible(self, point: Point) -> bool:
        """See `Method.is_feasible`."""
        on = point.scenario
        return is_feasible(on.model, point.strategy, on.resolved_divisibility)

    may_take_time = is_feasible

    def in_blocks(self, on: Inputs) -> bool:
        """See `Method.in_blocks`: where our own programs do the same for all workloads."""
        return (
            type(on.simulator) is NativeSimulator
            and type(on.generator) is NativeGenerator
            and on.system.custom_collectives is None
            and not uses_synthesis(on.system)
            and not on.system.npu_types
        )

    def answer_all(self, block: Block) -> Answers:
        """See `Method.answer_all`; an engine that takes longer than some ms ends a block."""
        from dse.studies.points.methods.simulated_columns import simulated_answers

        block.scenario.check()
        return simulated_answers(block, _OF_LAST_RANK)

    def feasible(self, block: Block) -> Sequence[bool]:
        """See `Method.feasible`."""
        on = block.scenario
        return [
            one.npus == on.system.npus and is_feasible(on.model, one, on.resolved_divisibility)
            for one in block.strategies
        ]

    def answer(self, point: Point) -> Answer:
        """See `Method.answer`."""
        workload, outcome = run_point(point)
        if outcome.status == "deadlock":
            columns = {"fractional": workload.is_fractional, **doubts(point)}
            return Answer("deadlock", outcome.reason, columns)
        return Answer(columns=_columns(point, workload, outcome))

    def record(self, point: Point, *, decisive_only: bool) -> Recording:
        """See `Method.record`; ranks that deadlock are in the recording."""
        on = point.scenario
        simulator = on.simulator if isinstance(on.simulator, NativeSimulator) else NativeSimulator()
        return simulator.record(
            workload_of(point), on.system, strategy=point.strategy, decisive_only=decisive_only
        )

    def varied(self, system: SystemSpec) -> list[Varied]:
        """See `Method.varied`: compute, memory bandwidth, then bandwidths, latencies, the endpoint delay.

        Left out is what has no effect: the roofline's two figures where it is off, and bandwidth and latency
        of Graph dimensions (they stand in the file). `injection_scale` only multiplies the endpoint delay.
        """
        found: list[Varied] = []
        if system.roofline_enabled and not system.replay_only:
            places = [
                (f"npu_types.{index}.", f" of {each.name}") for index, each in enumerate(system.npu_types)
            ]
            for prefix, whose in places or [("", "")]:
                found += [
                    Varied(f"{prefix}peak_tflops", f"compute{whose}", computes=True),
                    Varied(f"{prefix}memory_bandwidth_gbps", f"memory bandwidth{whose}", computes=True),
                ]
        dimensions = [index for index, dimension in enumerate(system.network) if dimension.file is None]
        for name, what in (("bandwidth_gbps", "bandwidth"), ("latency_ns", "latency")):
            found += [
                Varied(f"network.{index}.{name}", f"{what} of network dimension {index}")
                for index in dimensions
            ]
        if system.injection_scale > 0:
            found.append(Varied("endpoint_delay_ns", "endpoint delay", is_integer=True))
        return found

    def why_not_in_a_page(self, on: Inputs) -> str:
        """See `Method.why_not_in_a_page`."""
        if on.is_external:
            return "programs of your own cannot run in a page: write simulator=native workload=native"
        if getattr(on.simulator, "reference", DEFAULT_REFERENCE) != DEFAULT_REFERENCE:
            return f"a page computes what {DEFAULT_REFERENCE} computes: leave out simulator.reference"
        return ""

    def cost_units(self, point: Point) -> int:
        """See `Method.cost_units`: layers, micro-batches, ranks that differ."""
        model, system, strategy = point.scenario.model, point.scenario.system, point.strategy
        ranks = system.npus if system.network_model == "congestion_aware" or system.deratings else 1
        ranks = max(ranks, len(system.npu_types))
        return model.num_layers * model.micro_batches_on(strategy.dp, strategy.pp) * ranks

    def slow_ranks(self, point: Point) -> int:
        """See `Method.slow_ranks`: more than 1 where symmetry may not be proven.

        Gathered weights end with messages between stages: in some of these pipelines in the same tick, whose
        order may differ between ranks, so that every rank is simulated (docs/simulator.md).
        """
        model, strategy = point.scenario.model, point.strategy
        if not strategy.weight_sharded or strategy.pp == 1:
            return 1
        return point.scenario.system.npus if model.micro_batches_on(strategy.dp, strategy.pp) > 1 else 1


def run_point(point: Point) -> tuple[Workload, Outcome]:
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


def workload_of(point: Point) -> Workload:
    """Generate the workload.

    Raises:
        InfeasibleStrategy, SimulationError, SimulationTimeout, InputError: as `run_point`.
    """
    on, strategy = point.scenario, point.strategy
    on.check()
    require_filled(point)
    return on.generator.generate(on.model, strategy, on.resolved_divisibility)


def short_of_memory(system: SystemSpec, outcome: Outcome) -> str:
    """Return which type of NPUs has too little memory, and by how much; empty if none or there are no types.

    NPUs that never finish, or whose memory is not tracked, are taken to fit.
    """
    first, problems = 0, []
    for each in system.npu_types:
        classes = set(outcome.class_of_rank[first : first + each.npus])
        metrics = [found for number in classes if (found := outcome.classes[number]) is not None]
        peak = max((found.peak_memory_bytes or 0 for found in metrics), default=0)
        if peak > each.memory_bytes:
            problems.append(
                f"{each.name}: needs {format_bytes(peak)} on an NPU, has {format_bytes(each.memory_bytes)}"
            )
        first += each.npus
    return "; ".join(problems)


def doubts(point: Point) -> dict[str, str | None]:
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


def _schedules(point: Point, workload: Workload) -> str | None:
    on = point.scenario
    if on.simulator.is_external or not uses_synthesis(on.system):
        return None
    return quality_of_schedules(on.system, workload.native)


def _columns(point: Point, workload: Workload, outcome: Outcome) -> dict[str, Any]:
    """Wall time and peak memory are maxima; the rest is the last rank's, the lowest id on ties."""
    classes = [metrics for metrics in outcome.classes if metrics is not None]
    last: RankMetrics = max(classes, key=lambda metrics: metrics.finish_ns)  # the first one on ties
    rank0 = outcome.rank(0)
    assert rank0 is not None
    peaks = [metrics.peak_memory_bytes for metrics in classes if metrics.peak_memory_bytes is not None]
    wall_time_ns = max(metrics.wall_time_ns for metrics in classes)
    return {
        "fractional": workload.is_fractional,
        "wall_time_ns": wall_time_ns,
        **{name: getattr(last, name) for name in _OF_LAST_RANK},
        "peak_memory_bytes": max(peaks) if peaks else None,
        "rank0_wall_time_ns": rank0.wall_time_ns,
        "rank0_peak_memory_bytes": rank0.peak_memory_bytes,
        "last_rank": list(outcome.class_of_rank).index(outcome.classes.index(last)),
        "rank_classes": len(outcome.classes),
        "schedules": _schedules(point, workload),
        **doubts(point),
        **throughput(point, wall_time_ns, is_fractional=workload.is_fractional),
    }
