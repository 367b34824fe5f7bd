"""The stages of a rank in torch.distributed.pipelining, with their work or with times in place of it."""

# mypy: disable-error-code="misc,no-any-return"

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import pipelining

from dse.inputs.strategies.schedules import schedule_named
from dse.partition.graphs.sources.torch_graph import exported
from dse.partition.graphs.sources.training_task import TrainingTask
from dse.partition.run.draws import seed_draws
from dse.partition.run.in_turn import InTurn
from dse.partition.run.plans import Plan, batches, device_of, task_of
from dse.partition.run.processes import Progress
from dse.partition.run.stages import split, stages_of

_WARM_UP = 3
PassTimes = Mapping[int, tuple[int, int]]
"""CPU nanoseconds of a forward and of a backward pass by stage; the others take none."""


@dataclass(frozen=True)
class Pipeline:
    """The part that a rank runs: its stages, their schedule, and whether it takes inputs and makes losses.

    Where its stage has `replicas`, this is number `replica`, which takes each micro-batch whose turn it is,
    and `peers` are the processes of all, which average the gradients of their `parameters`.
    """

    stages: list[Any]
    schedule: Any
    is_first: bool
    is_last: bool
    parameters: list[Any]
    micro_batch: int
    replica: int = 0
    replicas: int = 1
    peers: Any = None

    def step(self, inputs: tuple[Any, ...], target: Any) -> list[Any]:
        """Run the passes of all micro-batches; return their losses, none where another rank has them."""
        inputs, target = tuple(self._own(value) for value in inputs), self._own(target)
        arguments = tuple(_with_gradient(value) for value in inputs) if self.is_first else ()
        if not self.is_last:
            self.schedule.step(*arguments)
            return []
        losses: list[Any] = []
        self.schedule.step(*arguments, target=target, losses=losses)
        return losses

    def _own(self, value: Any) -> Any:
        return value.unflatten(0, (-1, self.micro_batch))[self.replica :: self.replicas].flatten(0, 1)

    def average(self, tensors: Sequence[Any]) -> None:
        """Replace tensors by their means over all replicas."""
        if self.peers is None or not tensors:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors]) / self.replicas
        dist.all_reduce(flat, group=self.peers)
        for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(mean.view_as(tensor))

    def average_gradients(self) -> None:
        """Replace gradients by their means over all replicas; one that a parameter lacks counts as 0."""
        if self.peers is None:
            return
        for parameter in self.parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        self.average([parameter.grad for parameter in self.parameters])


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

    devices = {number: plan.placement[name] for name, number in stage.items()}
    count = len(devices)
    layout = plan.layout([devices[number] for number in range(count)], processes)
    replica, place = layout.replica_and_stage(rank)
    replicas = layout.count(place)
    share = plan.micro_batches // replicas

    def pass_of(counted: int) -> int:
        step, number = divmod(counted, share)
        return step * plan.micro_batches + number * replicas + replica

    def policy(traced: Any) -> Any:
        seed_draws(traced, plan.seed, pass_of)
        return split(traced, stage, relay=plan.relay)

    pipe = pipelining.pipeline(task.module, inputs, split_policy=policy)
    # The runtime wants no more processes in a group than there are stages.
    alone = dist.new_group([rank], use_local_synchronization=True) if processes > count else None
    own = [pipe.build_stage(number, device, alone) for number in range(place, count, len(layout.each))]
    parameters = [value for one in own for value in one.submod.parameters() if value.requires_grad]
    loss: Callable[..., Any] = task.loss
    if times is not None:
        loss = _first_value
        for one in own:
            one.submod = _HandsOn(one.submod, times.get(one.stage_index, (0, 0))).to(device)
    schedule: Any
    if plan.schedule == "interleaved":
        schedule = pipelining.ScheduleInterleaved1F1B(own, share, loss)
    else:
        schedule = InTurn(own[0], layout, replica, schedule_named(plan.schedule), plan.micro_batches, loss)
    ends = (place == 0, (count - 1) % len(layout.each) == place)
    # All processes make all groups, in the same order.
    groups = {
        one: dist.new_group(layout.devices_of(one))
        for one in range(len(layout.each))
        if layout.count(one) > 1
    }
    peers = groups.get(place)
    return Pipeline(own, schedule, *ends, parameters, plan.micro_batch, replica, replicas, peers)


class Overhead(NamedTuple):
    """The framework's time in a process: ns of a pass, and in each repetition those to average and to end.

    Processes end together: all average gradients, and wait for each other.
    """

    pass_ns: float
    averaging_ns: list[int]
    end_ns: list[int]


def measure_overhead(plan: Plan, repetitions: int, rank: int, processes: int, progress: Progress) -> Overhead:
    """Return what the framework takes in this process.

    The schedule runs with stages that hand on tensors of the same sizes and compute nothing. On CPUs a pass
    is the CPU time of all threads of the process, those of gloo too, on GPUs the time of the step. The least
    of the repetitions counts: gloo's thread spins in many of them while it waits.
    """
    task = task_of(plan, rank)
    device = device_of(rank)
    pipeline = pipeline_of(plan, task, rank, processes, times={})
    clock = time.process_time_ns if device.type == "cpu" else time.perf_counter_ns
    inputs, target = next(batches(plan, task, device))
    taken, averaging, end = [], [], []
    for repetition in range(_WARM_UP + repetitions):
        progress(repetition)
        dist.barrier()
        start = clock()
        pipeline.step(inputs, target)
        taken.append(clock() - start)
        dist.barrier()
        start = time.perf_counter_ns()
        pipeline.average_gradients()
        averaging.append(time.perf_counter_ns() - start)
        dist.barrier()
        end.append(time.perf_counter_ns() - start)
    passes = 2 * (plan.micro_batches // pipeline.replicas) * len(pipeline.stages)
    return Overhead(min(taken[_WARM_UP:]) / passes, averaging[_WARM_UP:], end[_WARM_UP:])


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
