"""Lower bounds from chunks that enter a set of nodes: cut, entry window, and what is left to spread then.

**Cut.** What a set lacks enters it over the links into it, each chunk by a delivery of its own.

**Entry times.** A chunk from outside U cannot be at a node u before s(u), the shortest way there from its
first holders. So a link u → w carries none before s(u).

Each NPU has k chunks of its own in an all-gather, a gather: what its links carry beyond k chunks
has come to it before, so not before the least time of the links into it.

**Cut with depth.** What v in U wants from outside enters U a last time, over a link into some w, and goes on
inside: it enters at least d(w, v), the shortest way inside U, before T.

**Window.** Every NPU v in U wants n chunks from outside: the links into v, each from its s(u) on, deliver n.

**Spread.** P lies in U, and the q NPUs of P all want the same n chunks from outside of U. For any moment t:
call a chunk late if no delivery brought it into P before t. A delivery into P before t spares at most one
chunk from being late, so there are at least n - e late ones if e deliveries entered P before t. Every late
chunk reaches each of the q NPUs by a delivery of its own: one that enters P at t or later, or one inside P,
which starts at t or later. With F(T) for the most deliveries into NPUs of P by T, R(T) into its switches,
I(T, t) for those inside P towards NPUs that start at t or later, all with the entry times of their links:
q (n - e) ≤ (F(T) - f) + I(T, t), where e = f + r, f ≤ F(t-), r ≤ R(t-), so that
q n ≤ F(T) + I(T, t) + (q - 1) F(t-) + q R(t-). The least T for which this holds at every t is the bound;
t after T gives the cut, and t = first entry gives the window, summed over P.

In an all-reduce the messages of a chunk that hold contributions from outside of U take the chunk's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.sets import MOST_NODES_OF_ALL_SETS
from dse.collectives.bounds.view import Bound, Strongest, View

MOST_INNER_SETS = 24


class _Entry(NamedTuple):
    """A set, when chunks from outside can be at its nodes, how many of them its NPUs want each, and which."""

    inside: NDArray[np.bool_]
    start_ps: NDArray[np.int64]
    each: int
    wanting: NDArray[np.bool_]

    @property
    def first_ps(self) -> int:
        return int(self.start_ps[self.inside].min())


def set_bounds(view: View, sets: Iterable[NDArray[np.bool_]]) -> Iterator[Bound]:
    """Cuts and entry windows of sets of nodes, given as masks, and of those that lie in one another."""
    masks = list(sets)
    columns = np.array(masks).reshape(len(masks), view.problem.graph.nodes)
    cut, window = Strongest("cut"), Strongest("entry_window")
    for inside in masks:
        if view.deadline.is_over:
            return
        need = view.needs.into_set(inside)
        if not need:
            continue
        start = view.links.entry_times(view.first_ps, inside.view("uint8"))
        entry = _Entry(inside, start, view.needs.into_each(inside), view.needs.wanting(inside))
        if view.needs.demand is None:
            yield from _cuts(view, entry, need, cut)
        if entry.each:
            yield from _into_one(view, entry, window)
        if entry.each and view.needs.everyone_gets_the_same:
            within = np.flatnonzero(~(columns & ~inside).any(axis=1))
            most = len(masks) if len(inside) <= MOST_NODES_OF_ALL_SETS else MOST_INNER_SETS
            for number in within[:most].tolist():
                if view.deadline.is_over:
                    return
                yield from _into_all(view, entry, masks[number], window)


def _cuts(view: View, entry: _Entry, need: int, cut: Strongest) -> Iterator[Bound]:
    inside = entry.inside.view("uint8")
    time, _, _ = view.links.entry_bounds(entry.start_ps, inside, np.zeros_like(inside), need)
    if cut.raised_to(time):
        text = f"{need} chunks have to enter these nodes"
        yield Bound(cut.name, time, _numbers(entry.inside), text)
    if not entry.each or view.problem.collective.kind in ("all_to_all", "scatter"):
        return
    wanting = entry.wanting.view("uint8")
    time, node = view.links.deepest_node(entry.start_ps, inside, wanting, entry.each)
    if cut.raised_to(time):
        text = f"{entry.each} chunks have to enter these nodes early enough to go on inside to NPU {node}"
        yield Bound(cut.name, time, _numbers(entry.inside), text, (node,))


def _into_one(view: View, entry: _Entry, window: Strongest) -> Iterator[Bound]:
    time, node = view.links.busiest_node(np.where(entry.wanting, entry.each, 0), entry.start_ps)
    if window.raised_to(time):
        text = (
            f"{entry.each} chunks have to enter NPU {node} from outside of these nodes. Links from inside"
            f" carry none of them before {entry.first_ps} ps, when the first can be there"
        )
        yield Bound(window.name, time, _numbers(entry.inside), text, (node,))


def _into_all(view: View, entry: _Entry, inner: NDArray[np.bool_], window: Strongest) -> Iterator[Bound]:
    npus = view.needs.wanting(inner)
    _, time, moment = view.links.entry_bounds(
        entry.start_ps, inner.view("uint8"), npus.view("uint8"), entry.each
    )
    if window.raised_to(time):
        text = (
            f"{entry.each} chunks from outside of these nodes have to reach all {int(npus.sum())} NPUs of"
            f" the inner set. Links from inside carry none of them before {entry.first_ps} ps, when the first"
            f" can be there. A chunk that enters the inner set at {moment} ps or later needs a delivery to"
            " each of its NPUs"
        )
        yield Bound(window.name, time, _numbers(entry.inside), text, _numbers(inner))


def _numbers(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(mask.nonzero()[0].tolist())
