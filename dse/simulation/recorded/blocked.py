"""Why a replay does not end: a circle of nodes, each waiting for the next, in the words of a simulation."""

from __future__ import annotations

from itertools import pairwise

from dse.base.lazy import NDArray, np
from dse.simulation.recorded.step import NodeKind, RecordedStep
from dse.simulation.recorded.times import rank_index_of
from dse.simulation.simulators.base import BlockedNode


def blocked_nodes(
    step: RecordedStep, start_ns: NDArray[np.int64], circle: NDArray[np.int64]
) -> tuple[BlockedNode, ...]:
    """Return the nodes of a circle; the peer of a node is the rank of the node that it waits for."""
    ranks = [step.ranks[index] for index in rank_index_of(step)[circle].tolist()]
    nodes = circle.tolist()
    around = [*zip(nodes, ranks, strict=True), (nodes[0], ranks[0])]
    return tuple(
        [
            _blocked(step, node, rank, other, peer, is_there=bool(start_ns[node] >= 0))
            for (node, rank), (other, peer) in pairwise(around)
        ]
    )


def _blocked(
    step: RecordedStep, node: int, rank: int, other: int, peer: int, *, is_there: bool
) -> BlockedNode:
    number = int(step.communication[node])
    group = step.communications[number].group if number >= 0 else ""
    name, awaited = (step.names[step.name[each]] for each in (node, other))
    if is_there:
        cause = f"the {step.communications[number].kind} waits for node {other} {awaited}, which never begins"
    else:
        cause = f"node {other} {awaited} before it never ends"
    return BlockedNode(rank, node, name, NodeKind(step.kind[node]).name.lower(), group, (peer,), cause)
