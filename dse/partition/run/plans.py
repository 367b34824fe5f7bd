"""The training of a job: the plan, and the model, data and device that each of its processes makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dse.partition.graphs.sources.torch_models import task_named
from dse.partition.graphs.sources.training_task import TrainingTask

SCHEDULES = {"1f1b": "Schedule1F1B", "gpipe": "ScheduleGPipe", "interleaved": "ScheduleInterleaved1F1B"}
"""What torch.distributed.pipelining calls them."""


@dataclass(frozen=True)
class Plan:
    """The training: `steps` of `micro_batches` of `micro_batch` samples, the same data everywhere.

    Each of the `replicas` of the pipeline has its share of the micro-batches, and of the processes.
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
    replicas: int = 1

    @property
    def relay(self) -> bool:
        """Whether tensors go from stage to stage rather than past some.

        A send waits for its receiver. Where forward and backward passes alternate, stages further apart would
        wait for each other: one to send activations, the other to send gradients. Under gpipe none can.
        """
        return self.schedule != "gpipe"

    @property
    def own_micro_batches(self) -> int:
        """Micro-batches of a step in each replica."""
        return self.micro_batches // self.replicas

    def replica_and_place(self, rank: int, processes: int) -> tuple[int, int]:
        """Return the replica of a process, and its place in the pipeline of that."""
        return divmod(rank, processes // self.replicas)

    @property
    def batch(self) -> int:
        """Samples of a step."""
        return self.micro_batches * self.micro_batch


def device_of(rank: int) -> Any:
    """Return the device of a process: a GPU of its own if there is one, else the CPU."""
    import torch

    if torch.cuda.is_available():
        return torch.device("cuda", rank % torch.cuda.device_count())
    return torch.device("cpu")


def task_of(plan: Plan, rank: int) -> TrainingTask:
    """Return the model of a plan with its first parameters, in a process that uses the plan's threads."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(device_of(rank))
    torch.set_num_threads(plan.threads)
    return task_named(plan.model, plan.seed)


def batches(plan: Plan, task: TrainingTask, device: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield inputs and target of every step."""
    import torch

    generator = torch.Generator().manual_seed(plan.seed + 1)
    for _ in range(plan.steps):
        inputs, target = task.sample(generator, plan.batch)
        yield tuple(value.to(device) for value in inputs), target.to(device)
