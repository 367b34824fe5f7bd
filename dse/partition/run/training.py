"""The work of one process: train its stage of a pipeline, a model alone, or its shard (FSDP)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dse.base.errors import InputError
from dse.base.lazy import dist, torch
from dse.partition.graphs.sources.torch_graph import exported
from dse.partition.graphs.sources.training_task import TrainingTask
from dse.partition.graphs.steps import StageGraph
from dse.partition.run.plans import Plan, batches, device_of, task_of
from dse.partition.run.processes import Progress


@dataclass(frozen=True)
class Trained:
    """The loss of every step (None if this process does not see it), its seconds, and of its rehearsals."""

    losses: list[float] | None
    seconds: list[float]
    rehearsed: list[float] = field(default_factory=list)


def train_pipeline(plan: Plan, rank: int, processes: int, progress: Progress) -> Trained:
    """Train the stages of a rank with torch.distributed.pipelining; the group is ready.

    Raises:
        InputError: the partition does not fit the model or the number of processes.
    """
    return _train(plan, None, rank, processes, progress)


def train_rehearsed(plan: Plan, stages: StageGraph, rank: int, processes: int, progress: Progress) -> Trained:
    """Train as `train_pipeline`, and before each step rehearse it with the predicted times of `stages`.

    A rehearsal runs the same schedule with stages that are busy for the CPU time predicted for them. So it
    waits for its turns among the programs that run during the training, and knows nothing of its steps.
    """
    return _train(plan, stages, rank, processes, progress)


def _train(plan: Plan, times: StageGraph | None, rank: int, processes: int, progress: Progress) -> Trained:

    from dse.partition.run.runtime import pipeline_of

    task, device = task_of(plan, rank), device_of(rank)
    pipeline = pipeline_of(plan, task, rank, processes)
    optimizer = _optimizer(plan, pipeline.parameters)
    rehearse = None if times is None else _rehearsal(plan, times, rank, processes)
    losses: list[float] = []
    seconds, rehearsed = [], []
    for step, (inputs, target) in enumerate(batches(plan, task, device)):
        progress(step)
        if rehearse is not None:
            rehearsed.append(rehearse(inputs, target))
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        found = pipeline.step(inputs, target)
        pipeline.average_gradients()
        optimizer.step()
        if found:
            mean = torch.stack([loss.detach() for loss in found]).mean()
            pipeline.average([mean])
            losses.append(float(mean))
        dist.barrier()
        seconds.append(time.perf_counter() - start)
    return Trained(losses or None, seconds, rehearsed)


def _rehearsal(
    plan: Plan, times: StageGraph, rank: int, processes: int
) -> Callable[[tuple[Any, ...], Any], float]:
    """Return a function that runs a step without the work of operators, and returns its seconds."""
    from dse.partition.run.runtime import pipeline_of, work_for

    passes = {
        stage: (round(forward), round(times.backward * forward))
        for stage, forward in enumerate(times.forward_ns)
    }
    pipeline = pipeline_of(plan, task_of(plan, rank), rank, processes, times=passes)
    after_ns = sum(times.after_ns[one.stage_index] for one in pipeline.stages)

    def rehearse(inputs: tuple[Any, ...], target: Any) -> float:
        dist.barrier()
        start = time.perf_counter()
        pipeline.step(inputs, target)
        pipeline.average_gradients()
        work_for(round(after_ns))
        dist.barrier()
        return time.perf_counter() - start

    return rehearse


def train_alone(plan: Plan, rank: int, processes: int, progress: Progress) -> Trained:  # noqa: ARG001
    """Train the whole model in this process, with the same micro-batches, whose gradients are added up."""
    task, device = task_of(plan, rank), device_of(rank)
    module = _whole(plan, task).to(device)
    optimizer = _optimizer(plan, module.parameters())
    losses, seconds = [], []
    for step, (inputs, target) in enumerate(batches(plan, task, device)):
        progress(step)
        start = time.perf_counter()
        optimizer.zero_grad()
        found = []
        for part in range(plan.micro_batches):
            some = slice(part * plan.micro_batch, (part + 1) * plan.micro_batch)
            loss = task.loss(module(*(value[some] for value in inputs)), target[some])
            (loss / plan.micro_batches).backward()
            found.append(loss.detach())
        optimizer.step()
        losses.append(float(torch.stack([loss.detach() for loss in found]).mean()))
        seconds.append(time.perf_counter() - start)
    return Trained(losses, seconds)


def train_sharded(plan: Plan, rank: int, processes: int, progress: Progress) -> Trained:
    """Train with fully sharded data parallelism (`torch.distributed.fsdp.fully_shard`); the group is ready.

    Every process has its share of the samples of a step, and gathers the parameters of a module that has
    some before it is used. Zhao et al. 2023, https://arxiv.org/abs/2304.11277.

    Raises:
        InputError: the samples of a step cannot be shared out evenly.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    if plan.batch % processes:
        raise InputError(f"a step has {plan.batch} samples, which {processes} processes cannot share evenly")
    task, device = task_of(plan, rank), device_of(rank)
    module = task.module.to(device)
    mesh = init_device_mesh(device.type, (processes,))
    for child in module.children():
        if any(True for _ in child.parameters()) and type(child).forward is not _no_forward():
            fully_shard(child, mesh=mesh)
    fully_shard(module, mesh=mesh)
    optimizer = _optimizer(plan, module.parameters())
    share = plan.batch // processes
    losses, seconds = [], []
    for step, (inputs, target) in enumerate(batches(plan, task, device)):
        progress(step)
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        some = slice(rank * share, (rank + 1) * share)
        loss = task.loss(module(*(value[some] for value in inputs)), target[some])
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(float(mean) / processes)
        dist.barrier()
        seconds.append(time.perf_counter() - start)
    return Trained(losses, seconds)


def _whole(plan: Plan, task: TrainingTask) -> Any:
    """The module, traced where it draws random numbers: then each operator draws as in a stage."""
    from dse.partition.run.draws import has_draws, seed_draws

    traced = exported(task, plan.micro_batch)
    if not has_draws(traced):
        return task.module
    seed_draws(traced, plan.seed)
    return traced


def _no_forward() -> Any:
    """The forward of modules that only hold others, such as lists, which nothing calls."""
    from torch import nn

    return nn.ModuleList.forward


def _optimizer(plan: Plan, parameters: Any) -> Any:
    # A stage may have no parameters: an optimizer of nothing is refused, one of an empty tensor is not.
    own = list(parameters) or [torch.nn.Parameter(torch.empty(0))]
    return torch.optim.AdamW(own, lr=plan.learning_rate)
