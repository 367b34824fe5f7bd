"""The events kept of a timeline that is larger than its bound: the longest, in their old order."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from operator import itemgetter
from typing import TypeVar

from dse.answers.timelines.flows import Flow
from dse.answers.timelines.tracks import Slice
from dse.simulation.simulators import NEVER

_Drawn = TypeVar("_Drawn", Slice, Flow)
Step = tuple[int, int, int]  # of a memory curve: rank class, time in ns, bytes


def kept_slices(slices: list[Slice], room: int) -> list[Slice]:
    """Return the longest; what never ends before all others."""
    return _largest(slices, room, lambda drawn: (drawn.node.end_ns == NEVER, drawn.duration_ns))


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
    return _largest(flows, room, lambda flow: (flow.category == "message", flow.target.duration_ns))


def _largest(drawn: list[_Drawn], room: int, size: Callable[[_Drawn], tuple[bool, int]]) -> list[_Drawn]:
    """As many as there is room for, in their order; of equal ones the first."""
    if len(drawn) <= room:
        return drawn
    order = heapq.nlargest(max(room, 0), enumerate(drawn), key=lambda item: (*size(item[1]), -item[0]))
    return [one for _, one in sorted(order, key=itemgetter(0))]
