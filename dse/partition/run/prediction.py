"""The step of a pipeline as the engine simulates it, from measured operators, overheads and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.texts import counted
from dse.partition.graphs.sources.source import Rates, model_graph
from dse.partition.graphs.sources.torch_graph import read_torch
from dse.partition.graphs.steps import StageGraph, simulate_step, stage_graph, step_programs
from dse.partition.problem.problem import Devices
from dse.partition.problem.replicas import Layout
from dse.partition.run.plans import Plan, device_of
from dse.partition.run.probe import Link, probe
from dse.partition.run.processes import Progress, processes_per_host, run_processes
from dse.partition.run.profile import Profile, measure
from dse.partition.run.stages import labels_of
from dse.partition.run.turns import End, shared_step_ns

if TYPE_CHECKING:
    from dse.partition.run.runtime import Overhead

_PROBE_BYTES = 1 << 20
_REPETITIONS = 20


@dataclass(frozen=True)
class Predicted:
    """Seconds of a step, of all the work in it, and of the framework for a pass of a stage, on average.

    `stages` have the times that a rehearsal takes in place of the work.
    """

    step_s: float
    work_s: float
    overhead_s: float
    stages: StageGraph


def measured_links(processes: int, message_bytes: int, repetitions: int) -> list[Link]:
    """Return the links between all pairs of processes."""
    found = run_processes(probe, processes, message_bytes, repetitions)
    return [link for links in found for link in links]


def measured_profile(model: str, micro_batch: int, repetitions: int, threads: int) -> Profile:
    """Return the times of a model's operators."""
    found: Profile = run_processes(measure, 1, model, micro_batch, repetitions, threads, group=False)[0]
    return found


def threads_of(processes: int) -> int:
    """Return the threads of a process: its share of the cores."""
    return max(1, usable_cores() // processes_per_host(processes))


def shared_cores(processes: int) -> list[str]:
    """Return what a prediction leaves out where processes have no core each; empty where they have one."""
    cores, processes = usable_cores(), processes_per_host(processes)
    if processes <= cores:
        return []
    return [
        f"{processes} processes share {counted(cores, 'core')}; in the predicted step those with work have "
        "equal shares, and lose no time where they change places"
    ]


def predicted(plan: Plan, processes: int, links: Devices | None) -> Predicted | None:
    """Return the simulated step with measured operators, overheads and links; None for a single process.

    Raises:
        InputError: the partition is of another model, or the topology has fewer nodes than there are
            processes.
    """
    if processes < 2:
        return None
    stages = _stages(plan)
    measured = run_processes(measured_overhead, processes, plan, _REPETITIONS)
    overheads = [one.pass_ns for one in measured]
    layout = plan.layout(stages.device_of or range(stages.count), processes)
    one, width = replace(layout, pipelines=1), len(layout.each)
    # Links and homes are those between processes of a pipeline.
    homes = tuple(tuple(one.devices_of(stage)) for stage in range(width)) if layout.replicas != 1 else ()
    first = [one.device_of(stage % width, 0) for stage in range(stages.count)]
    own = tuple(overheads[process] for process in first)
    stages = replace(stages, overhead_ns=own, device_of=tuple(range(stages.count)), homes=homes)
    if links is None:
        links = devices_of(measured_links(processes, _PROBE_BYTES, _REPETITIONS), processes)
    elif links.count < processes:
        raise InputError(f"the topology has {links.count} nodes, but there are {processes} processes")
    averaging = [
        longest_ns([measured[process].averaging_ns for process in layout.devices_of(stage)])
        if layout.count(stage) > 1
        else 0.0
        for stage in range(width)
    ]
    ending_ns = max(0.0, longest_ns([one.end_ns for one in measured]) - max(averaging))
    micro_batches = plan.micro_batches // layout.pipelines
    hosts = processes / processes_per_host(processes)
    cores = hosts * max(1, usable_cores() // plan.threads) if device_of(0).type == "cpu" else processes
    if processes > cores:
        passed_ns = _in_turns_ns(plan, stages, layout, links, averaging, cores)
    else:
        after = [ns + averaging[stage % width] * (stage < width) for stage, ns in enumerate(stages.after_ns)]
        whole = replace(stages, after_ns=tuple(after))
        recording = simulate_step(whole, plan.schedule, micro_batches, links, width)
        passed_ns = max(metrics.finish_ns for metrics in recording.outcome.classes if metrics is not None)
    work = work_ns(stages, micro_batches) * layout.pipelines
    return Predicted(
        (passed_ns + ending_ns) / 1e9,
        work / 1e9,
        sum(overheads) / len(overheads) / 1e9,
        stages,
    )


def measured_overhead(
    plan: Plan, repetitions: int, rank: int, processes: int, progress: Progress
) -> Overhead:
    """Return what the framework takes in a process (`dse.partition.run.runtime`)."""
    from dse.partition.run.runtime import measure_overhead

    return measure_overhead(plan, repetitions, rank, processes, progress)


def longest_ns(repetitions_of: Sequence[Sequence[float]]) -> float:
    """Return the least, over repetitions, of the longest time that one of the processes took."""
    longest: list[float] = [max(times) for times in zip(*repetitions_of, strict=True)]
    return min(longest)


def _in_turns_ns(
    plan: Plan,
    stages: StageGraph,
    layout: Layout,
    links: Devices,
    averaging: Sequence[float],
    cores: float,
) -> float:
    """Return the ns of a step of processes that share cores, of all pipelines."""
    width, micro_batches = len(layout.each), plan.micro_batches // layout.pipelines
    passes = replace(stages, after_ns=())
    devices, programs = step_programs(passes, plan.schedule, micro_batches, links, width)
    place_of = [place for place in range(width) for _ in range(passes.replicas_of(place))]
    ends = [End(place, averaging[place], sum(stages.after_ns[place::width])) for place in place_of]
    return shared_step_ns(programs, ends, links, devices, cores, layout.pipelines)


def work_ns(stages: StageGraph, micro_batches: int) -> float:
    """Return the time of all the work of a step, one after the other."""
    passes = sum(stages.forward_ns) * (1 + stages.backward)
    after = sum(ns * stages.replicas_of(stage) for stage, ns in enumerate(stages.after_ns))
    return micro_batches * passes + after


def _stages(plan: Plan) -> StageGraph:
    """Return the stages with the measured times of their operators, of a partition that fits the model."""
    source = read_torch(plan.model, plan.micro_batch)
    labels = labels_of(plan.placement, [operator.name for operator in source.operators])
    profile = measured_profile(plan.model, plan.micro_batch, _REPETITIONS, plan.threads)
    operators = tuple(
        replace(operator, ns=profile.operator_ns[operator.name]) for operator in source.operators
    )
    source = replace(source, operators=operators)
    graph = model_graph(source, "time", Rates(1.0), ())
    stages = stage_graph(graph, labels, (), profile.backward, relay=plan.relay)
    total = sum(profile.parameters.values()) or 1.0
    after = [0.0] * stages.count
    for operator, label in zip(operators, labels, strict=True):
        share = profile.parameters[operator.name] / total
        after[stages.device_of.index(label)] += share * profile.optimizer_ns
    return replace(stages, after_ns=tuple(after))


def devices_of(links: Sequence[Link], processes: int) -> Devices:
    """Return the devices of measured links."""
    latency = [[0.0] * processes for _ in range(processes)]
    each = [[0.0] * processes for _ in range(processes)]
    for link in links:
        latency[link.source][link.destination] = link.latency_ns
        each[link.source][link.destination] = 1 / link.bandwidth_gbps
    return Devices(processes, (), tuple(map(tuple, latency)), tuple(map(tuple, each)))
