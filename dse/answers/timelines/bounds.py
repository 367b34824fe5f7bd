"""The events kept of a timeline that is larger than its bound: the longest, in their old order."""

from __future__ import annotations

import heapq
from operator import itemgetter

from dse.answers.timelines.flows import Flow
from dse.answers.timelines.tracks import Slice
from dse.simulation.simulators import NEVER

Step = tuple[int, int, int]  # of a memory curve: rank class, time in ns, bytes


def kept_slices(slices: list[Slice], room: int) -> list[Slice]:
    """Return the longest; what never ends before all others."""
    if len(slices) <= room:
        return slices
    numbered = enumerate(slices)
    order = heapq.nlargest(
        max(room, 0), numbered, key=lambda item: (item[1].node.end_ns == NEVER, item[1].duration_ns, -item[0])
    )
    return [drawn for _, drawn in sorted(order, key=itemgetter(0))]


def kept_steps(steps: list[Step], room: int) -> list[Step]:
    """Return the largest changes of the memory curves; each step that is kept has its exact total."""
    if len(steps) <= room:
        return steps
    peak_of: dict[int, int] = {}
    for rank_class, _, size in steps:
        peak_of[rank_class] = max(peak_of.get(rank_class, 0), size)
    weights = []
    for number, (rank_class, _, size) in enumerate(steps):
        same = number > 0 and steps[number - 1][0] == rank_class
        change = abs(size - steps[number - 1][2]) if same else size
        weights.append((size == peak_of[rank_class], change, -number))
    kept = heapq.nlargest(max(room, 0), weights)
    return [steps[number] for number in sorted(-weight[2] for weight in kept)]


def kept_flows(flows: list[Flow], room: int) -> list[Flow]:
    """Return those into the longest slices, messages first."""
    if len(flows) <= room:
        return flows
    order = heapq.nlargest(
        max(room, 0),
        enumerate(flows),
        key=lambda item: (item[1].category == "message", item[1].target.duration_ns, -item[0]),
    )
    return [flow for _, flow in sorted(order, key=itemgetter(0))]
