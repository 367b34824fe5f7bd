"""The training of a job: the plan, and the model, data and device that each of its processes makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError
from dse.base.lazy import torch
from dse.partition.graphs.sources.torch_models import task_named
from dse.partition.graphs.sources.training_task import TrainingTask
from dse.partition.problem.replicas import Layout, Replicas, layout_of, said

SCHEDULES = ("1f1b", "gpipe", "interleaved")
MOST_PROCESSES = 64


@dataclass(frozen=True)
class Plan:
    """The training: `steps` of `micro_batches` of `micro_batch` samples, the same data everywhere.

    The `replicas` of the pipeline, or of each device of `placement`, share micro-batches and have a process
    each.
    """

    model: str
    placement: Mapping[str, int]
    schedule: str = "1f1b"
    micro_batches: int = 8
    micro_batch: int = 8
    steps: int = 10
    seed: int = 0
    learning_rate: float = 1e-3
    threads: int = 1
    replicas: Replicas = 1

    @property
    def relay(self) -> bool:
        """Whether tensors go from stage to stage rather than past some.

        Sends of `interleaved` wait for their receivers. Where forward and backward passes alternate, stages
        further apart would wait for each other: one to send activations, the other to send gradients.
        """
        return self.schedule == "interleaved"

    def layout(self, devices: Sequence[int], processes: int) -> Layout:
        """Return the processes of stages, whose devices are named in the order of the forward pass."""
        if self.schedule == "interleaved":
            return Layout(1, (1,) * processes)  # stages go round and round
        if isinstance(self.replicas, int):
            return layout_of(self.replicas, len(devices))
        own = dict(zip(sorted(devices), self.replicas, strict=True))
        return layout_of(tuple(own[device] for device in devices), len(devices))

    @property
    def batch(self) -> int:
        """Samples of a step."""
        return self.micro_batches * self.micro_batch

    @property
    def stages(self) -> int:
        """The devices of the partition."""
        return len(set(self.placement.values()))

    @property
    def each(self) -> tuple[int, ...]:
        """The replicas of each device of the partition."""
        return self.replicas if isinstance(self.replicas, tuple) else (self.replicas,) * self.stages


def check_replicas(plan: Plan) -> None:
    """Refuse replicas that are not those of each device, or that cannot share the micro-batches evenly."""
    each, said_replicas = plan.each, f"replicas is {said(plan.replicas)}"
    if len(each) != plan.stages:
        raise InputError(
            f"{said_replicas}, of {len(each)} stages, but the partition has {plan.stages} devices"
        )
    if uneven := [one for one in each if plan.micro_batches % one]:
        multiple = math.lcm(*each)
        raise InputError(
            f"{said_replicas}, which cannot share {plan.micro_batches} micro-batches evenly; microbatches "
            f"must be a multiple of {uneven[0] if len(set(each)) > 1 else 'it'}, such as "
            f"{multiple * -(-plan.micro_batches // multiple)}"
        )


def check_processes(plan: Plan, processes: int) -> None:
    """Refuse a number of processes that the devices, replicas and schedule of a plan do not have."""
    said_replicas, replicated = f"replicas is {said(plan.replicas)}", max(plan.each) > 1
    if processes > MOST_PROCESSES:
        raise InputError(f"{said_replicas}, in all {processes}; at most {MOST_PROCESSES} run")
    if replicated and (plan.schedule == "interleaved" or plan.stages < 2):
        raise InputError(f"{said_replicas}; 1f1b and gpipe with 2 or more stages have replicas")
    if plan.schedule == "interleaved":
        if plan.stages % processes or plan.stages == processes:
            raise InputError(
                f"processes is {processes}; interleaved goes round them: the {plan.stages} devices of the "
                f"partition must be 2 or more times as many, such as processes={max(1, plan.stages // 2)}"
            )
    elif processes != sum(plan.each):
        per_replica = f" and {said(plan.replicas)} replicas" if replicated else ""
        raise InputError(
            f"processes is {processes}, but the partition has {plan.stages} devices{per_replica}; "
            "interleaved takes fewer"
        )


def device_of(rank: int) -> Any:
    """Return the device of a process: a GPU of its own if there is one, else the CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda", rank % torch.cuda.device_count())
    return torch.device("cpu")


def task_of(plan: Plan, rank: int) -> TrainingTask:
    """Return the model of a plan with its first parameters, in a process that uses the plan's threads."""
    if torch.cuda.is_available():
        torch.cuda.set_device(device_of(rank))
    torch.set_num_threads(plan.threads)
    return task_named(plan.model, plan.seed)


def batches(plan: Plan, task: TrainingTask, device: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield inputs and target of every step."""
    generator = torch.Generator().manual_seed(plan.seed + 1)
    for _ in range(plan.steps):
        inputs, target = task.sample(generator, plan.batch)
        yield tuple(value.to(device) for value in inputs), target.to(device)
