"""Switches that forward chunks while they arrive: for which networks times stay those of single links.

A chunk that is sent to a switch at t, on a link of latency L, may leave it on others from t + L on, while it
arrives. As all links of the switch have one bandwidth W, none of them runs dry, and a chunk that leaves at
once has crossed both links after L1 + L2 + S/W, each held for S/W. One that
leaves later, or over several links, waits in the switch, as a stored one does. So a link into such a switch
delivers after L and is held for S/W, and nothing else of the model changes. Schedules run backwards are valid
as well, as latencies are whole numbers of ticks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.base.errors import InputError

NO_VARIANCE = (
    "variance does not go with forwarding=cut_through: a link slower than others at its switch would let "
    "them run dry; write forwarding=stored"
)
NO_LATER_FAILURE = (
    "failed_at_us does not go with forwarding=cut_through: what is on both sides of a switch would be torn; "
    "let it fail at 0, or write forwarding=stored"
)

if TYPE_CHECKING:
    from dse.inputs.networks import LinkGraph


def check_cut_through(graph: LinkGraph, tick_ps: int) -> None:
    """Refuse networks in which switches cannot cut through.

    Raises:
        InputError: no switches, links of several bandwidths at one, or a latency at one that is 0 or no
            whole number of ticks; names the switch.
    """
    import numpy as np

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
        kinds = [graph.kinds[number] for number in sorted(numbers)]
        speeds = sorted({kind.bandwidth_gbps for kind in kinds})
        if len(speeds) > 1:
            raise InputError(
                f"forwarding=cut_through needs links of one bandwidth at each switch, but switch {switch} "
                f"has {float(speeds[0]):g} and {float(speeds[-1]):g} GB/s; write forwarding=stored"
            )
        for kind in kinds:
            latency_ps = kind.latency_ns * 1000
            if latency_ps <= 0 or (latency_ps / tick_ps).denominator != 1:
                tick = "ps" if tick_ps == 1 else "ns"
                raise InputError(
                    f"forwarding=cut_through needs latencies of 1 {tick} or more at switches, in whole "
                    f"{tick}, but switch {switch} has a link of {float(kind.latency_ns):g} ns; "
                    "write forwarding=stored"
                )
