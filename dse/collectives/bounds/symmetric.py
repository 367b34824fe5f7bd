"""Cuts and entry windows of graphs that look the same from every node: sums over generators, not links."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from math import prod
from typing import NamedTuple

from dse.base.lazy import NDArray, np
from dse.collectives.bounds.view import NEVER, Bound, Strongest, View
from dse.inputs.networks.translations import Translations

MOST_BOXES = 256


class _Box(NamedTuple):
    """The nodes whose fixed digits are 0, and which generators lead from one of them to another."""

    free: tuple[bool, ...]
    nodes: int
    within: NDArray[np.bool_]


def symmetric_bounds(view: View, group: Translations) -> Iterator[Bound]:
    """Cuts and entry windows (see `windows`) of the boxes at node 0, which stand for all of their kind.

    A box is a subgroup, so chunks from outside can be at all its nodes from the same time on: the least
    time of a generator that leads out. All-to-all has also cuts by parts of a dimension.
    """
    boxes = list(islice(_boxes(group), MOST_BOXES))
    cut, window = Strongest("cut"), Strongest("entry_window")
    shared = view.needs.everyone_gets_the_same
    for outer in boxes:
        if view.deadline.is_over:
            return
        for inner in boxes if shared else [_box(group, (False,) * len(group.sizes)), outer]:
            if not any(i and not o for i, o in zip(inner.free, outer.free, strict=True)):
                yield from _of_boxes(view, group, outer, inner, cut, window)
    if view.problem.collective.name == "all_to_all":
        yield from _part_cuts(view, group, cut)


def _boxes(group: Translations) -> Iterator[_Box]:
    """All but the whole graph; of dimensions that are alike the first are free."""
    alike: dict[object, list[int]] = {}
    for place, digits in enumerate(group.digits(group.generators)):
        links = sorted(zip(digits[digits > 0].tolist(), group.kind_of[digits > 0].tolist(), strict=True))
        alike.setdefault((group.sizes[place], tuple(links)), []).append(place)
    for counts in product(*(range(len(places) + 1) for places in alike.values())):
        free = {
            place for places, count in zip(alike.values(), counts, strict=True) for place in places[:count]
        }
        if len(free) < len(group.sizes):
            yield _box(group, tuple(place in free for place in range(len(group.sizes))))


def _box(group: Translations, free: tuple[bool, ...]) -> _Box:
    digits = group.digits(group.generators)
    within: NDArray[np.bool_] = np.logical_not(digits[[not f for f in free]].any(axis=0))
    return _Box(free, prod(n for n, f in zip(group.sizes, free, strict=True) if f), within)


def _mask(group: Translations, box: _Box) -> NDArray[np.bool_]:
    digits = group.digits(np.arange(prod(group.sizes)))
    return np.logical_not(digits[[not f for f in box.free]].any(axis=0))


def _listed(group: Translations, box: _Box) -> tuple[int, ...]:
    return tuple(_mask(group, box).nonzero()[0].tolist())


def _of_boxes(
    view: View, group: Translations, outer: _Box, inner: _Box, cut: Strongest, window: Strongest
) -> Iterator[Bound]:
    """The bounds of chunks from outside `outer` that are wanted by all nodes of `inner`."""
    from dse.base.solvers import entry_bounds

    collective = view.problem.collective
    times = view.problem.times_of_kinds[group.kind_of]
    nodes, k = prod(group.sizes), collective.chunks_per_npu
    entry = int(times[~outer.within, 0].min(initial=NEVER))
    if entry == NEVER:
        return
    shared = view.needs.everyone_gets_the_same
    need = k * (nodes if collective.name == "all_reduce" else nodes - outer.nodes)
    if not shared and inner is outer:
        need *= outer.nodes
    used = ~inner.within if not shared else np.ones(len(times), dtype=np.bool_)
    start = np.where(outer.within, entry, 0)
    limit = np.full(len(start), NEVER)
    later = int(times[:, 0].min())
    # Links out of nodes outside carry what these own, and others' chunks not before they can have some.
    waits = ~outer.within & (view.own > 0) & (view.own * times[:, 1] < later)
    limit[waits] = view.own
    rows = np.concatenate((np.flatnonzero(used), np.flatnonzero(used & waits)))
    again = np.arange(len(rows)) >= int(used.sum())
    once, spread, moment = entry_bounds(
        np.where(inner.within, 2, 0)[rows],
        np.where(again, later, start[rows]),
        times[rows, 0].copy(),
        times[rows, 1].copy(),
        np.full(len(rows), inner.nodes),
        np.where(again, NEVER, limit[rows]),
        inner.nodes,
        need,
    )
    if inner is outer and cut.raised_to(once):
        text = f"{need} chunks have to enter these nodes"
        yield Bound(cut.name, once, _listed(group, outer), text)
    if inner is outer and not shared:
        return
    time = spread if shared else once
    if window.raised_to(time):
        text = (
            f"{need} chunks from outside of these nodes have to reach all {inner.nodes} NPUs of the inner"
            f" set. No link inside can carry one of them before {entry} ps. A chunk that enters the inner set"
            f" at {moment} ps or later needs a delivery to each of its NPUs"
        )
        yield Bound(window.name, time, _listed(group, outer), text, _listed(group, inner))


def _part_cuts(view: View, group: Translations, cut: Strongest) -> Iterator[Bound]:
    """Cuts into the nodes whose digit in one dimension is below some number."""
    from dse.base.solvers import entry_bounds

    times = view.problem.times_of_kinds[group.kind_of]
    nodes, k = prod(group.sizes), view.problem.collective.chunks_per_npu
    digits = group.digits(group.generators)
    for place, (size, stride) in enumerate(zip(group.sizes, group.strides, strict=True)):
        at = np.arange(size)
        for part in range(1, size // 2 + 1):
            if view.deadline.is_over:
                return
            enters = (at[:, None] >= part) & ((at[:, None] + digits[place]) % size < part)
            count = enters.sum(axis=0) * (nodes // size)
            used = count > 0
            zeros = np.zeros(int(used.sum()), dtype=np.int64)
            need = k * (nodes // size) ** 2 * part * (size - part)
            columns = (times[used, 0].copy(), times[used, 1].copy(), count[used], np.full_like(zeros, NEVER))
            time, _, _ = entry_bounds(zeros, zeros, *columns, 1, need)
            if cut.raised_to(time):
                inside = np.arange(nodes) // stride % size < part
                text = f"{need} chunks have to enter these nodes"
                yield Bound(cut.name, time, tuple(inside.nonzero()[0].tolist()), text)
