"""Cuts where every chunk goes from one NPU to one other: the links into a set let in what goes there.

A delivery into the set counts from when a chunk can be at its sender, and if the chunk can still go on from
where it enters to an NPU in time: of each chunk the last delivery into the set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dse.collectives.bounds.bound import NEVER, Bound
from dse.collectives.bounds.view import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def demand_cut(view: View, sets: Iterable[NDArray[np.bool_]]) -> Iterator[Bound]:
    """The cut that takes longest: of all sets of up to 20 nodes, of more those near `sets`."""
    import numpy as np

    demand = view.needs.demand
    if demand is None or not len(view.problem.graph):
        return
    starts = np.array(list(sets), dtype=np.uint8).ravel()
    found = view.links.longest_demand_cut(view.first_ps, view.last_ps, demand.ravel(), starts, 0)
    time, inside = found[0], found[1].astype(np.bool_)
    if 0 < time < NEVER:
        need = int(demand[np.ix_(~inside, inside)].sum())
        nodes = tuple(inside.nonzero()[0].tolist())
        yield Bound("cut", time, nodes, f"{need} chunks have to enter these nodes")
