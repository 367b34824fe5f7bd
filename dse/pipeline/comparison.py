"""A pipelined training run beside one process, FSDP, and the step that was predicted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.errors import InputError
from dse.machine import usable_cores
from dse.partition.devices import Devices
from dse.partition.sources.torch_graph import read_torch
from dse.partition.steps import StageGraph, simulate_step, stage_graph
from dse.pipeline.probe import Link, probe
from dse.pipeline.processes import run_processes
from dse.pipeline.profile import Profile, measure
from dse.pipeline.training import Plan, Trained, device_of, train_alone, train_pipeline, train_sharded
from dse.texts import counted

TOLERANCE = 1e-5
"""By how much losses may differ, relative: sums of 32-bit floats in another order."""

_PROBE_BYTES = 1 << 20
_REPETITIONS = 20
_WARM_UP_STEPS = 2


@dataclass(frozen=True)
class Compared:
    """Losses and median step times in seconds; None for what was not run."""

    plan: Plan
    processes: int
    losses: list[float]
    losses_alone: list[float]
    losses_sharded: list[float] | None
    seconds: float
    predicted_s: float | None
    seconds_alone: float
    seconds_sharded: float | None
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """The largest relative difference of a loss from that of one process."""
        return _difference(self.losses, self.losses_alone)

    @property
    def is_equal(self) -> bool:
        """Whether all losses are those of one process within `TOLERANCE`."""
        return self.difference <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        sharded = None if self.losses_sharded is None else _difference(self.losses_sharded, self.losses_alone)
        return {
            "model": self.plan.model,
            "schedule": self.plan.schedule,
            "processes": self.processes,
            "microbatches": self.plan.micro_batches,
            "micro_batch": self.plan.micro_batch,
            "steps": self.plan.steps,
            "losses": self.losses,
            "losses_alone": self.losses_alone,
            "losses_sharded": self.losses_sharded,
            "difference": self.difference,
            "difference_sharded": sharded,
            "tolerance": TOLERANCE,
            "equal": self.is_equal,
            "step_s": self.seconds,
            "predicted_step_s": self.predicted_s,
            "step_alone_s": self.seconds_alone,
            "step_sharded_s": self.seconds_sharded,
            "notes": list(self.notes),
        }

    def text(self) -> str:
        """The same for people."""
        lines = [
            f"{self.plan.model}: {self.plan.schedule}, {counted(self.processes, 'process', 'processes')}, "
            f"{self.plan.micro_batches} micro-batches of {self.plan.micro_batch}, {self.plan.steps} steps",
            f"losses {'equal' if self.is_equal else 'DIFFER FROM'} those of one process: largest relative "
            f"difference {self.difference:.2g}, tolerance {TOLERANCE:g}",
            f"first loss {self.losses[0]:.6f}, last {self.losses[-1]:.6f}",
            "",
            f"{'step':<24}{'median':>12}",
            f"{'pipeline, measured':<24}{_ms(self.seconds):>12}",
        ]
        if self.predicted_s is not None:
            error = 100 * (self.predicted_s / self.seconds - 1)
            lines.append(f"{'pipeline, predicted':<24}{_ms(self.predicted_s):>12}  {error:+.1f} %")
        if self.seconds_sharded is not None:
            lines.append(f"{'FSDP, measured':<24}{_ms(self.seconds_sharded):>12}")
        lines.append(f"{'one process, measured':<24}{_ms(self.seconds_alone):>12}")
        return "\n".join(lines)


def compare(plan: Plan, processes: int, links: Devices | None, *, predict: bool, baseline: bool) -> Compared:
    """Train in all ways, one after the other, on the same processes; `links` None: they are measured.

    Raises:
        ProcessDied: a process ended early.
        InputError: the partition does not fit the model, or samples cannot be shared out.
    """
    notes = []
    if predict and device_of(0).type == "cpu":
        notes += shared_cores(processes)
    predicted = _predicted_s(plan, processes, links) if predict else None
    piped = run_processes(train_pipeline, processes, plan)
    alone: Trained = run_processes(train_alone, 1, plan, group=False)[0]
    sharded = None
    if baseline and plan.batch % processes:
        notes.append(f"no FSDP: {processes} processes cannot share {plan.batch} samples of a step evenly")
    elif baseline and processes > 1:
        sharded = run_processes(train_sharded, processes, plan)
    losses = next(one.losses for one in piped if one.losses is not None)
    assert alone.losses is not None
    return Compared(
        plan,
        processes,
        losses,
        alone.losses,
        None if sharded is None else sharded[0].losses,
        _median(piped),
        predicted,
        _median([alone]),
        None if sharded is None else _median(sharded),
        tuple(notes),
    )


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
    return max(1, usable_cores() // processes)


def shared_cores(processes: int) -> list[str]:
    """Return what a prediction leaves out where processes have no core each; empty where they have one."""
    cores = usable_cores()
    if processes <= cores:
        return []
    return [
        f"{processes} processes share {counted(cores, 'core')}; the prediction has all work on all cores, "
        "but no waiting for a turn"
    ]


def _predicted_s(plan: Plan, processes: int, links: Devices | None) -> float | None:
    if processes < 2:
        return None
    profile = measured_profile(plan.model, plan.micro_batch, _REPETITIONS, plan.threads)
    stages = _stages(plan, profile)
    if links is None:
        links = devices_of(measured_links(processes, _PROBE_BYTES, _REPETITIONS), processes)
    elif links.count < processes:
        raise InputError(f"the topology has {links.count} nodes, but there are {processes} processes")
    recording = simulate_step(stages, plan.schedule, plan.micro_batches, links, processes)
    ends = [metrics.finish_ns for metrics in recording.outcome.classes if metrics is not None]
    at_a_time = max(1, usable_cores() // plan.threads) if device_of(0).type == "cpu" else processes
    return predicted_step_ns(ends, stages, plan.micro_batches, at_a_time) / 1e9


def predicted_step_ns(ends: Sequence[float], stages: StageGraph, micro_batches: int, at_a_time: int) -> float:
    """Return the last of the simulated `ends`, or the time of all work where that takes longer."""
    return max(*ends, least_step_ns(stages, micro_batches, at_a_time))


def least_step_ns(stages: StageGraph, micro_batches: int, at_a_time: int) -> float:
    """Return the time of all the work of a step by so many `at_a_time`, whichever process has its turn."""
    passes = micro_batches * sum(stages.forward_ns) * (1 + stages.backward)
    return (passes + sum(stages.after_ns)) / at_a_time


def _stages(plan: Plan, profile: Profile) -> StageGraph:
    from dse.partition.sources.source import Rates, model_graph

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
    # Stage s runs in process s: links are those between processes.
    return replace(stages, after_ns=tuple(after), device_of=tuple(range(stages.count)))


def devices_of(links: Sequence[Link], processes: int) -> Devices:
    """Return the devices of measured links."""
    latency = [[0.0] * processes for _ in range(processes)]
    each = [[0.0] * processes for _ in range(processes)]
    for link in links:
        latency[link.source][link.destination] = link.latency_ns
        each[link.source][link.destination] = 1 / link.bandwidth_gbps
    return Devices(processes, (), tuple(map(tuple, latency)), tuple(map(tuple, each)))


def _median(trained: Sequence[Trained]) -> float:
    """The median step of the slowest process, after warm-up."""
    return max(statistics.median(one.seconds[_WARM_UP_STEPS:] or one.seconds) for one in trained)


def _difference(losses: Sequence[float], others: Sequence[float]) -> float:
    differences = [abs(a - b) / max(abs(b), 1e-30) for a, b in zip(losses, others, strict=True)]
    return math.inf if any(map(math.isnan, differences)) else max(differences)


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"
