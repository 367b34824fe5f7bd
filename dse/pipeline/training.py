"""What one process does: train its stage of a pipeline, a model alone, or its shard (FSDP)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.errors import InputError
from dse.partition.sources.torch_graph import exported
from dse.partition.sources.torch_models import TrainingTask, task_named
from dse.pipeline.processes import Progress
from dse.pipeline.stages import split, stages_of

SCHEDULES = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B", "interleaved": "ScheduleInterleaved1F1B"}


@dataclass(frozen=True)
class Plan:
    """What is trained: `steps` of `micro_batches` of `micro_batch` samples, the same data everywhere."""

    model: str
    placement: Mapping[str, int]
    schedule: str = "1f1b"
    micro_batches: int = 8
    micro_batch: int = 8
    steps: int = 10
    seed: int = 0
    learning_rate: float = 1e-3
    threads: int = 1

    @property
    def relay(self) -> bool:
        """Whether tensors go from stage to stage rather than past some.

        A send waits for its receiver. Where forward and backward passes alternate, stages further apart would
        wait for each other: one to send activations, the other to send gradients. Under gpipe none can.
        """
        return self.schedule != "gpipe"

    @property
    def batch(self) -> int:
        """Samples of a step."""
        return self.micro_batches * self.micro_batch


@dataclass(frozen=True)
class Trained:
    """The loss of every step (None: this process does not see it) and its seconds."""

    losses: list[float] | None
    seconds: list[float]


def train_pipeline(plan: Plan, rank: int, processes: int, progress: Progress) -> Trained:
    """Train the stages of a rank with torch.distributed.pipelining; the group is ready.

    Raises:
        InputError: the partition does not fit the model or the number of processes.
    """
    import torch
    import torch.distributed as dist
    from torch.distributed import pipelining

    task, device = _task(plan, rank), device_of(rank)
    stage = stages_of(exported(task, plan.micro_batch), plan.placement)
    inputs, _ = task.sample(torch.Generator().manual_seed(0), plan.micro_batch)
    pipe = pipelining.pipeline(
        task.module, inputs, split_policy=lambda traced: split(traced, stage, relay=plan.relay)
    )
    count = max(stage.values()) + 1
    own = [pipe.build_stage(number, device) for number in range(rank, count, processes)]
    kind = getattr(pipelining, SCHEDULES[plan.schedule])
    made = own if plan.schedule == "interleaved" else own[0]
    schedule = kind(made, n_microbatches=plan.micro_batches, loss_fn=task.loss)
    optimizer = _optimizer(plan, [value for one in own for value in one.submod.parameters()])
    is_last = (count - 1) % processes == rank
    losses: list[float] = []
    seconds = []
    for step, (inputs, target) in enumerate(_batches(plan, task, device)):
        progress(step)
        dist.barrier()
        start = time.perf_counter()
        optimizer.zero_grad()
        found: list[Any] = []
        arguments = tuple(_with_gradient(value) for value in inputs) if rank == 0 else ()
        if is_last:
            schedule.step(*arguments, target=target, losses=found)
            losses.append(float(torch.stack([loss.detach() for loss in found]).mean()))
        else:
            schedule.step(*arguments)
        optimizer.step()
        dist.barrier()
        seconds.append(time.perf_counter() - start)
    return Trained(losses if is_last else None, seconds)


def train_alone(plan: Plan, rank: int, processes: int, progress: Progress) -> Trained:  # noqa: ARG001
    """Train the whole model in this process, with the same micro-batches, whose gradients are added up."""
    import torch

    task, device = _task(plan, rank), device_of(rank)
    module = task.module.to(device)
    optimizer = _optimizer(plan, module.parameters())
    losses, seconds = [], []
    for step, (inputs, target) in enumerate(_batches(plan, task, device)):
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
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    if plan.batch % processes:
        raise InputError(f"a step has {plan.batch} samples, which {processes} processes cannot share evenly")
    task, device = _task(plan, rank), device_of(rank)
    module = task.module.to(device)
    mesh = init_device_mesh(device.type, (processes,))
    for child in module.children():
        if any(True for _ in child.parameters()) and type(child).forward is not _no_forward():
            fully_shard(child, mesh=mesh)
    fully_shard(module, mesh=mesh)
    optimizer = _optimizer(plan, module.parameters())
    share = plan.batch // processes
    losses, seconds = [], []
    for step, (inputs, target) in enumerate(_batches(plan, task, device)):
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


WAYS: dict[str, Callable[[Plan, int, int, Progress], Trained]] = {
    "pipeline": train_pipeline,
    "alone": train_alone,
    "sharded": train_sharded,
}


def device_of(rank: int) -> Any:
    """Return the device of a process: a GPU of its own if there is one, else the CPU."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda", rank % torch.cuda.device_count())
    return torch.device("cpu")


def _no_forward() -> Any:
    """The forward of modules that only hold others, such as lists, which nothing calls."""
    from torch import nn

    return nn.ModuleList.forward


def _task(plan: Plan, rank: int) -> TrainingTask:
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(device_of(rank))
    torch.set_num_threads(plan.threads)
    return task_named(plan.model, plan.seed)


def _batches(plan: Plan, task: TrainingTask, device: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    import torch

    generator = torch.Generator().manual_seed(plan.seed + 1)
    for _ in range(plan.steps):
        inputs, target = task.sample(generator, plan.batch)
        yield tuple(value.to(device) for value in inputs), target.to(device)


def _with_gradient(value: Any) -> Any:
    """Inputs that go on to later stages get gradients back, whether anyone wants them or not."""
    return value.requires_grad_(True) if value.is_floating_point() else value


def _optimizer(plan: Plan, parameters: Any) -> Any:
    import torch

    # A stage may have no parameters: an optimizer of nothing is refused, one of an empty tensor is not.
    own = list(parameters) or [torch.nn.Parameter(torch.empty(0))]
    return torch.optim.AdamW(own, lr=plan.learning_rate)
