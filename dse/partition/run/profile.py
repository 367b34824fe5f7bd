"""Measured times of a model's operators, of its backward pass and of its optimizer, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dse.base.lazy import torch
from dse.partition.graphs.sources.torch_graph import exported, is_operator, torch_source
from dse.partition.graphs.sources.torch_models import task_named
from dse.partition.run.plans import device_of
from dse.partition.run.processes import Progress

_WARM_UP = 3


@dataclass(frozen=True)
class Profile:
    """Nanoseconds of each operator's forward pass on a micro-batch, by name; medians.

    `backward` is the time of a backward pass over that of a forward pass, and `optimizer_ns` a step of the
    optimizer over all `parameters`.
    """

    operator_ns: dict[str, float]
    backward: float
    optimizer_ns: float
    parameters: dict[str, float]


def measure(
    model: str,
    micro_batch: int,
    repetitions: int,
    threads: int,
    rank: int,
    processes: int,
    progress: Progress,
) -> Profile:
    """Measure a model; runs in a process of its own.

    Operators run one by one in their order, as they do in a stage. Their sum is scaled to the time of the
    whole forward pass with gradients recorded, so that what is between operators counts too. Gradients are
    added to those that are there, as they are for all micro-batches of a step but the first. On CPUs times
    are CPU time of this thread, which runs both passes: other programs do not lengthen it.
    """
    del rank, processes
    torch.set_num_threads(threads)
    clock = time.thread_time_ns if device_of(0).type == "cpu" else time.perf_counter_ns
    task = task_named(model)
    traced = exported(task, micro_batch)
    inputs, target = task.sample(torch.Generator().manual_seed(0), micro_batch)
    runs: list[dict[str, float]] = []
    forward, backward, update = [], [], []
    optimizer = torch.optim.AdamW(task.module.parameters())
    for repetition in range(_WARM_UP + repetitions):
        progress(repetition)
        runs.append(_operator_times(traced, inputs, clock))
        start = clock()
        loss = task.loss(task.module(*inputs), target)
        middle = clock()
        loss.backward()
        end = clock()
        optimizer.step()
        update.append(clock() - end)
        forward.append(middle - start)
        backward.append(end - middle)
    kept = runs[_WARM_UP:]
    medians = {name: statistics.median(run[name] for run in kept) for name in kept[0]}
    whole = statistics.median(forward[_WARM_UP:])
    scale = whole / sum(medians.values())
    source = torch_source(model, traced)
    return Profile(
        {name: ns * scale for name, ns in medians.items()},
        statistics.median(backward[_WARM_UP:]) / whole,
        statistics.median(update[_WARM_UP:]),
        {operator.name: operator.parameters for operator in source.operators},
    )


def _operator_times(traced: Any, inputs: tuple[Any, ...], clock: Callable[[], int]) -> dict[str, float]:
    found: dict[str, float] = {}

    class Timed(torch.fx.Interpreter):  # type: ignore[misc]
        """Runs a graph node by node, and keeps how long operators take."""

        def run_node(self, node: Any) -> Any:
            """Run a node."""
            start = clock()
            value = super().run_node(node)
            if is_operator(node):
                found[node.name] = float(clock() - start)
            return value

    Timed(traced).run(*inputs)
    return found
