"""A plan's work as execution traces of all GPUs, for the engine.

The first GPU of a replica computes and talks for it: what the others do meanwhile is in the profiled layer
times. When its last pass has ended it tells the others, and each GPU reduces its gradients with its like in
the other replicas, then updates its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dse.base.trace_nodes import TraceNode, trace_of
from dse.planner.questions.simulation.passes import Pass, order_of
from dse.planner.questions.simulation.work import FORWARD_SHARE, Message, PlanWork, Replica, StageWork
from dse.simulation.workloads.nodes import MessageEnd, collective_node, compute_node, message_node
from dse.simulation.workloads.traces import ImportedWorkload, workload_of

NS_PER_MS = 1e6
_WAYS = ("forward", "backward")
_SIGNAL_BYTES = 1
_SEND: MessageEnd = "send"
_RECEIVE: MessageEnd = "receive"


def pass_ns(stage: StageWork, replica: Replica) -> tuple[int, int]:
    """The time of a forward and a backward pass, gap and batch generator included; at least 1 ns."""
    inside = replica.layers_ms + replica.gap_ms
    forward = inside * FORWARD_SHARE + stage.generator_ms
    return max(1, round(forward * NS_PER_MS)), max(1, round((inside * (1 - FORWARD_SHARE)) * NS_PER_MS))


def update_ns(stage: StageWork) -> int:
    """The time that updating the parameters takes; at least 1 ns."""
    return max(1, round(stage.terms.update_ms * NS_PER_MS))


def gradient_bytes(stage: StageWork) -> int:
    """Gradients of a GPU in whole bytes, at least one for each member of its ring."""
    return max(len(stage.replicas), round(stage.gradient_bytes))


def plan_workload(work: PlanWork, npus: int) -> ImportedWorkload:
    """Return the traces of ranks 0 to `npus` - 1; GPUs without work compute for 1 ns."""
    writer = _Writer(work)
    traces = {
        rank: trace_of(list(nodes))
        for number, stage in enumerate(work.stages)
        for rank, nodes in writer.stage(number, stage)
    }
    idle = trace_of([compute_node(0, 1, (), "idle")])
    return workload_of([traces.get(rank, idle) for rank in range(npus)], writer.groups)


def ring_members(stage: StageWork) -> list[list[int]]:
    """The ranks that reduce gradients together: the j-th GPU of each replica."""
    if len(stage.replicas) == 1:
        return []
    return [[replica.ranks[j] for replica in stage.replicas] for j in range(stage.tp)]


@dataclass
class _Chain:
    """Nodes of one rank; `last` are those that the next one waits for."""

    nodes: list[TraceNode] = field(default_factory=list)
    last: tuple[int, ...] = ()

    def compute(self, ns: int, name: str, after: tuple[int, ...] = ()) -> None:
        number = len(self.nodes)
        self.nodes.append(compute_node(number, ns, (*self.last, *after), name))
        self.last = (number,)

    def add(self, node: TraceNode) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


class _Writer:
    def __init__(self, work: PlanWork) -> None:
        self.work = work
        self.groups: dict[str, list[int]] = {}
        self._group_of: dict[int, str] = {}
        for stage in work.stages:
            for members in ring_members(stage):
                name = str(len(self.groups) + 1)
                self.groups[name] = members
                self._group_of.update(dict.fromkeys(members, name))
        self._outgoing: dict[tuple[int, int], list[Message]] = {}
        self._incoming: dict[tuple[int, int], list[Message]] = {}
        for message in work.messages:
            self._outgoing.setdefault((message.stage, message.source), []).append(message)
            self._incoming.setdefault((message.stage + 1, message.destination), []).append(message)

    def stage(self, number: int, stage: StageWork) -> Iterator[tuple[int, list[TraceNode]]]:
        order = order_of(number, len(self.work.stages), self.work.micro_batches)
        for index, replica in enumerate(stage.replicas):
            first = replica.ranks.start
            chain = _Chain()
            if replica.samples:
                times = pass_ns(stage, replica)
                for each in order:
                    self._pass(chain, number, index, each, times[each.is_backward])
            else:
                chain.compute(1, "no samples")
            others = list(replica.ranks[1:]) if len(stage.replicas) > 1 else []
            for other in others:
                tag = self._tag(Pass(True, self.work.micro_batches))
                node = message_node(
                    len(chain.nodes), f"gradients {other}", "send", tag, other, _SIGNAL_BYTES, chain.last
                )
                chain.add(node)
            self._finish(chain, stage, first)
            yield first, chain.nodes
            for other in others:
                chain = _Chain()
                node = message_node(0, f"gradients {other}", "receive", tag, first, _SIGNAL_BYTES, ())
                chain.last = (chain.add(node),)
                self._finish(chain, stage, other)
                yield other, chain.nodes

    def _pass(self, chain: _Chain, number: int, index: int, each: Pass, ns: int) -> None:
        """Receive, compute, send: forward from the stage before to the next, backward the other way."""
        before = self._incoming.get((number, index), [])
        behind = self._outgoing.get((number, index), [])
        takes, gives = (behind, before) if each.is_backward else (before, behind)
        name = f"{_WAYS[each.is_backward]} {each.micro_batch}"
        received = tuple(
            chain.add(self._node(len(chain.nodes), _RECEIVE, name, message, each, ())) for message in takes
        )
        chain.compute(ns, name, received)
        for message in gives:
            chain.add(self._node(len(chain.nodes), _SEND, name, message, each, chain.last))

    def _node(
        self, number: int, kind: MessageEnd, name: str, message: Message, each: Pass, after: tuple[int, ...]
    ) -> TraceNode:
        stages = self.work.stages
        here = stages[message.stage].replicas[message.source].ranks.start
        there = stages[message.stage + 1].replicas[message.destination].ranks.start
        peer = there if (kind == _SEND) != each.is_backward else here
        size = message.samples * self.work.sample_bytes
        return message_node(number, f"{kind} {name}", kind, self._tag(each), peer, size, after)

    def _tag(self, each: Pass) -> int:
        return 2 * each.micro_batch + each.is_backward

    def _finish(self, chain: _Chain, stage: StageWork, rank: int) -> None:
        if rank in self._group_of:
            number = len(chain.nodes)
            size, group = gradient_bytes(stage), self._group_of[rank]
            node = collective_node(number, "reduce gradients", "all_reduce", size, group, chain.last)
            chain.last = (chain.add(node),)
        chain.compute(update_ns(stage), "update")
