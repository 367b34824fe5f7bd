"""A schedule of torch.distributed.pipelining whose stages have replicas that take micro-batches in turn."""

# mypy: disable-error-code="misc,no-any-return"

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch.distributed as dist
from torch.distributed.pipelining.schedules import PipelineScheduleSingle

from dse.inputs.strategies.schedules.schedule import FORWARD, Schedule, replicated_operations
from dse.partition.problem.replicas import Layout


class InTurn(PipelineScheduleSingle):
    """Runs the passes of one replica of a stage in the order that is simulated.

    A message goes to the process whose turn the micro-batch is. Sends wait for nothing, and the messages of
    the next pass are asked for before a pass begins. Activations and gradients each have a group of
    processes, in which all messages between two processes go one way, in the order of both.
    """

    def __init__(
        self,
        stage: Any,
        layout: Layout,
        replica: int,
        kind: Schedule,
        micro_batches: int,
        loss: Callable[..., Any],
    ) -> None:
        place, stages = stage.stage_index, range(len(layout.each))
        self.replicas = layout.count(place)
        super().__init__(stage, micro_batches // self.replicas, loss)
        counts = [layout.count(one) for one in stages]
        self.order = replicated_operations(kind, counts, 1, micro_batches)[place][replica]
        self.process_of = [
            {one: layout.device_of(one, batch) for one in stages} for batch in range(micro_batches)
        ]
        self.groups = (dist.new_group(), dist.new_group())

    def _messages(self, ops: Callable[[int], list[Any]], is_forward: bool, micro_batch: int) -> list[Any]:
        """Begin the messages of a pass that `ops` lists."""
        stage = self._stage
        stage.group = self.groups[is_forward]
        stage.stage_index_to_group_rank = self.process_of[micro_batch]
        return [
            one.op(one.tensor, group=one.group, **{_PEER[one.op]: one.group_peer})
            for one in ops(micro_batch // self.replicas)
        ]

    def _received(self, turn: int) -> list[Any]:
        if turn == len(self.order):
            return []
        kind, _, micro_batch = self.order[turn]
        stage = self._stage
        ops = stage.get_fwd_recv_ops if kind == FORWARD else stage.get_bwd_recv_ops
        return self._messages(ops, kind == FORWARD, micro_batch)

    def _warmup_p2p(self, *_: Any) -> None:
        """Do nothing: the first message to a process makes the connection."""

    def _step_microbatches(
        self,
        arg_mbs: list[Any] | None = None,
        kwarg_mbs: list[Any] | None = None,
        target_mbs: list[Any] | None = None,
        losses: list[Any] | None = None,
        return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
    ) -> None:
        inputs, options = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        target = target_mbs[0] if target_mbs is not None else None
        self._initialize_stage(inputs[0], options[0], target, loss_kwargs)
        stage = self._stage
        sent: list[Any] = []
        awaited = self._received(0)
        for turn, (kind, _, micro_batch) in enumerate(self.order):
            _wait(awaited)
            awaited = self._received(turn + 1)
            own = micro_batch // self.replicas
            if kind == FORWARD:
                output = stage.forward_one_chunk(
                    own, inputs[own], options[own], save_forward_output=return_outputs
                )
                self._maybe_compute_loss(stage, output, target_mbs, own, loss_kwargs)
                ops = stage.get_fwd_send_ops
            else:
                loss = self._maybe_get_loss(stage, own)
                stage.backward_one_chunk(own, loss=loss, last_backward=turn == len(self.order) - 1)
                ops = stage.get_bwd_send_ops
            sent = [one for one in sent if not one.is_completed()]
            sent += self._messages(ops, kind == FORWARD, micro_batch)
        _wait(sent)
        self._update_losses(stage, losses)
        stage.perform_reduce_grad(self._n_microbatches if self.scale_grads else 1)


_PEER = {dist.isend: "group_dst", dist.irecv: "group_src"}


def _wait(messages: Sequence[Any]) -> None:
    for one in messages:
        one.wait()
