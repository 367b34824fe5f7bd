"""The step of a pipeline as the engine simulates it, from measured operators, overheads and links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.texts import counted
from dse.partition.graphs.sources.torch_graph import read_torch
from dse.partition.graphs.steps import StageGraph, simulate_step, stage_graph
from dse.partition.problem.devices import Devices
from dse.partition.run.launched import processes_per_host
from dse.partition.run.plans import Plan, device_of
from dse.partition.run.probe import Link, probe
from dse.partition.run.processes import Progress, run_processes
from dse.partition.run.profile import Profile, measure

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
        f"{processes} processes share {counted(cores, 'core')}; the predicted step has work on all cores, "
        "but no waiting for a turn, which the rehearsed one has"
    ]


def predicted(plan: Plan, processes: int, links: Devices | None) -> Predicted | None:
    """Return the simulated step with measured operators, overheads and links; None for a single process.

    Raises:
        InputError: the topology has fewer nodes than there are processes.
    """
    if processes < 2:
        return None
    profile = measured_profile(plan.model, plan.micro_batch, _REPETITIONS, plan.threads)
    stages = _stages(plan, profile)
    measured = run_processes(measured_overhead, processes, plan, _REPETITIONS)
    overheads = [overhead for overhead, _ in measured]
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
    averaging = [measured[first[stage]][1] if stage < width else 0.0 for stage in range(stages.count)]
    whole = replace(stages, after_ns=tuple(map(sum, zip(stages.after_ns, averaging, strict=True))))
    micro_batches = plan.micro_batches // layout.pipelines
    recording = simulate_step(whole, plan.schedule, micro_batches, links, width)
    ends = [metrics.finish_ns for metrics in recording.outcome.classes if metrics is not None]
    hosts = processes / processes_per_host(processes)
    at_a_time = hosts * max(1, usable_cores() // plan.threads) if device_of(0).type == "cpu" else processes
    bare = replace(stages, overhead_ns=())
    work = least_step_ns(bare, micro_batches, 1) * layout.pipelines
    return Predicted(
        predicted_step_ns(ends, whole, micro_batches, at_a_time / layout.pipelines) / 1e9,
        work / 1e9,
        sum(overheads) / len(overheads) / 1e9,
        stages,
    )


def measured_overhead(
    plan: Plan, repetitions: int, rank: int, processes: int, progress: Progress
) -> tuple[float, float]:
    """Return the ns of the framework for a pass, and to average gradients (`dse.partition.run.runtime`)."""
    from dse.partition.run.runtime import measure_overhead

    return measure_overhead(plan, repetitions, rank, processes, progress)


def predicted_step_ns(
    ends: Sequence[float], stages: StageGraph, micro_batches: int, at_a_time: float
) -> float:
    """Return the last of the simulated `ends`, or the time of all work where that takes longer."""
    return max(*ends, least_step_ns(stages, micro_batches, at_a_time))


def least_step_ns(stages: StageGraph, micro_batches: int, at_a_time: float) -> float:
    """Return the time of all the work of a step by so many `at_a_time`, whichever process has its turn."""
    passes = sum(stages.forward_ns) * (1 + stages.backward) + 2 * sum(stages.overhead_ns)
    after = sum(ns * stages.replicas_of(stage) for stage, ns in enumerate(stages.after_ns))
    return (micro_batches * passes + after) / at_a_time


def _stages(plan: Plan, profile: Profile) -> StageGraph:
    from dse.partition.graphs.sources.source import Rates, model_graph

    source = read_torch(plan.model, plan.micro_batch)
    operators = tuple(
        replace(operator, ns=profile.operator_ns[operator.name]) for operator in source.operators
    )
    source = replace(source, operators=operators)
    graph = model_graph(source, "time", Rates(1.0), ())
    labels = [plan.placement[operator.name] for operator in operators]
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
