"""The stages of a rank in torch.distributed.pipelining, with their work or with times in place of it."""

# mypy: disable-error-code="misc,no-any-return"

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import pipelining

from dse.partition.graphs.sources.torch_graph import exported
from dse.partition.graphs.sources.training_task import TrainingTask
from dse.partition.run.draws import seed_draws
from dse.partition.run.plans import SCHEDULES, Plan, batches, device_of, task_of
from dse.partition.run.processes import Progress
from dse.partition.run.stages import split, stages_of

_WARM_UP = 3
PassTimes = Mapping[int, tuple[int, int]]
"""CPU nanoseconds of a forward and of a backward pass by stage; the others take none."""


@dataclass(frozen=True)
class Pipeline:
    """The part that a rank runs: its stages, their schedule, and whether it takes inputs and makes losses."""

    stages: list[Any]
    schedule: Any
    is_first: bool
    is_last: bool

    def step(self, inputs: tuple[Any, ...], target: Any) -> list[Any]:
        """Run the passes of all micro-batches; return their losses, none where another rank has them."""
        arguments = tuple(_with_gradient(value) for value in inputs) if self.is_first else ()
        if not self.is_last:
            self.schedule.step(*arguments)
            return []
        losses: list[Any] = []
        self.schedule.step(*arguments, target=target, losses=losses)
        return losses


def pipeline_of(
    plan: Plan, task: TrainingTask, rank: int, processes: int, *, times: PassTimes | None = None
) -> Pipeline:
    """Build the stages of a rank; with `times` they take these and hand on tensors of the same sizes.

    Raises:
        InputError: the partition does not fit the model or the number of processes.
    """
    device = device_of(rank)
    stage = stages_of(exported(task, plan.micro_batch), plan.placement)
    inputs, _ = task.sample(torch.Generator().manual_seed(0), plan.micro_batch)

    def policy(traced: Any) -> Any:
        seed_draws(traced, plan.seed)
        return split(traced, stage, relay=plan.relay)

    pipe = pipelining.pipeline(task.module, inputs, split_policy=policy)
    count = max(stage.values()) + 1
    own = [pipe.build_stage(number, device) for number in range(rank, count, processes)]
    loss: Callable[..., Any] = task.loss
    if times is not None:
        loss = _first_value
        for one in own:
            one.submod = _HandsOn(one.submod, times.get(one.stage_index, (0, 0))).to(device)
    made = own if plan.schedule == "interleaved" else own[0]
    kind = getattr(pipelining, SCHEDULES[plan.schedule])
    schedule = kind(made, n_microbatches=plan.micro_batches, loss_fn=loss)
    return Pipeline(own, schedule, rank == 0, (count - 1) % processes == rank)


def measure_overhead(plan: Plan, repetitions: int, rank: int, processes: int, progress: Progress) -> float:
    """Return the ns that the framework takes for a pass of a stage of this rank; the group is ready.

    The schedule runs with stages that hand on tensors of the same sizes and compute nothing. On CPUs it is
    the CPU time of all threads of the process, those of gloo too, on GPUs the time of the step. The least of
    the repetitions counts: gloo's thread spins in many of them while it waits, which keeps nothing waiting.
    """
    task = task_of(plan, rank)
    device = device_of(rank)
    pipeline = pipeline_of(plan, task, rank, processes, times={})
    clock = time.process_time_ns if device.type == "cpu" else time.perf_counter_ns
    inputs, target = next(batches(plan, task, device))
    taken = []
    for repetition in range(_WARM_UP + repetitions):
        progress(repetition)
        dist.barrier()
        start = clock()
        pipeline.step(inputs, target)
        taken.append(clock() - start)
    passes = 2 * plan.micro_batches * len(pipeline.stages)
    return min(taken[_WARM_UP:]) / passes


def work_for(cpu_ns: int) -> None:
    """Keep this thread busy until it has had so many nanoseconds of CPU time."""
    end = time.thread_time_ns() + cpu_ns
    while time.thread_time_ns() < end:
        pass


class _HandsOn(nn.Module):
    """Takes the place of a stage: copies of tensors that were made before are its outputs and gradients."""

    def __init__(self, stage: Any, times: tuple[int, int]) -> None:
        super().__init__()
        self.times = times
        self.graph = stage.graph  # from which the runtime knows what goes where
        output = next(node for node in stage.graph.nodes if node.op == "output")
        made = output.args[0]
        self.is_one = not isinstance(made, tuple | list)
        values = [node.meta["val"] for node in ((made,) if self.is_one else made)]
        self.made = [torch.zeros(value.shape, dtype=value.dtype) for value in values]
        self.trained = nn.Parameter(torch.zeros(()))  # without one, outputs would have no gradients

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs."""
        outputs = _Copies.apply(self.times, self.made, self.trained, *inputs)
        return outputs[0] if self.is_one else outputs


class _Copies(torch.autograd.Function):
    """Copies of tensors that depend on all inputs, with gradients of 0; each pass takes its time."""

    @staticmethod
    def forward(ctx: Any, times: tuple[int, int], made: list[Tensor], trained: Tensor, *inputs: Any) -> Any:
        """Return the copies."""
        work_for(times[0])
        ctx.backward_ns = times[1]
        ctx.shapes = [value if isinstance(value, Tensor) else None for value in (trained, *inputs)]
        outputs = tuple(tensor.clone() for tensor in made)
        ctx.mark_non_differentiable(*(one for one in outputs if not one.is_floating_point()))
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Return gradients of the sizes of the inputs."""
        del gradients
        work_for(ctx.backward_ns)
        return (
            None,
            None,
            *(
                torch.zeros_like(value) if needed and value is not None else None
                for value, needed in zip(ctx.shapes, ctx.needs_input_grad[2:], strict=True)
            ),
        )


def _first_value(output: Any, target: Any) -> Any:
    del target
    first = output[0] if isinstance(output, tuple | list) else output
    return first.flatten()[0]


def _with_gradient(value: Any) -> Any:
    """Inputs that go on to later stages get gradients back, whether anyone wants them or not."""
    return value.requires_grad_(True) if value.is_floating_point() else value
