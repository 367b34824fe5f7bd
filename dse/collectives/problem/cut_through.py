"""Switches that forward chunks while they arrive: how times stay those of single links.

A chunk is sent to a switch at t, on a link of latency L1 and bandwidth W1. It may leave on others, of W2,
as soon as none of them would run dry: from t + L1 on where the switch has no faster link, and S/W1 - S/W
later where W is the bandwidth of its fastest one. So it has crossed both after L1 + L2 + S/W1 if it goes
on to the fastest link, and after L1 + L2 + S/W2 if it comes from there. Between two of the slower links
it waits as long, as the switch does not look at the way on. A chunk that leaves later, or over several
links, waits in the switch, as a stored one does. So a link into such a switch delivers after L1 + S/W1 -
S/W and is held for S/W1, and nothing else of the model changes. Schedules run backwards are valid as
well, as latencies are whole numbers of ticks: the wait of a chunk is L1 + S/W1 - S/W forwards, and so are
the times of L1 backwards.
"""

from __future__ import annotations

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.inputs.networks import LinkGraph

NO_VARIANCE = (
    "variance does not go with forwarding=cut_through: a link slower than others at its switch would let "
    "them run dry; write forwarding=stored"
)
NO_LATER_FAILURE = (
    "failed_at_us does not go with forwarding=cut_through: what is on both sides of a switch would be torn; "
    "let it fail at 0, or write forwarding=stored"
)


def shortest_serial_ps(graph: LinkGraph, serial_ps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return per node for how long bytes of a chunk enter the fastest of the links into or out of it."""
    shortest = np.full(graph.nodes, np.iinfo(np.int64).max, dtype=np.int64)
    for nodes in (graph.sources, graph.destinations):
        np.minimum.at(shortest, nodes, serial_ps)
    return shortest


def check_cut_through(graph: LinkGraph, tick_ps: int) -> None:
    """Refuse networks in which switches cannot cut through.

    Raises:
        InputError: no switches, or a latency at one that is 0 or no whole number of ticks; names the switch.
    """
    if graph.nodes == graph.npus:
        raise InputError(
            "forwarding=cut_through has no effect without switches; name them by npus=NUMBER, or by "
            "switches=nodes of a system, or leave it out"
        )
    kinds_at: dict[int, set[int]] = {}
    for nodes in (graph.sources, graph.destinations):
        pairs = np.stack([nodes, graph.kind_of], axis=1)[nodes >= graph.npus]
        for switch, kind in np.unique(pairs, axis=0).tolist():
            kinds_at.setdefault(switch, set()).add(kind)
    for switch, numbers in sorted(kinds_at.items()):
        for kind in (graph.kinds[number] for number in sorted(numbers)):
            latency_ps = kind.latency_ns * 1000
            if latency_ps <= 0 or (latency_ps / tick_ps).denominator != 1:
                tick = "ps" if tick_ps == 1 else "ns"
                raise InputError(
                    f"forwarding=cut_through needs latencies of 1 {tick} or more at switches, in whole "
                    f"{tick}, but switch {switch} has a link of {float(kind.latency_ns):g} ns; "
                    "write forwarding=stored"
                )
