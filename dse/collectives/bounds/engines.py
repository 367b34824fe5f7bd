"""Lower bounds where NPUs drive few links at once: their engines are busy, and few NPUs pass a chunk on."""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.lazy import NDArray, np
from dse.base.texts import counted
from dse.collectives.bounds.spreads import spread_bound
from dse.collectives.bounds.view import Bound, View
from dse.collectives.bounds.weights import weight_of_ways
from dse.inputs.networks.graph import LIMITS

_NAME = "engines"


def engine_bounds(view: View) -> Iterator[Bound]:
    """Bounds of a problem whose NPUs have limits; nothing without any.

    A send takes an engine while its bytes enter a link, and all of them have arrived at the end.
    """
    graph = view.problem.graph
    for name, ends in zip(LIMITS, (graph.sources, graph.destinations), strict=True):
        if getattr(graph, name):
            yield from _of_npus(view, name, ends)
            yield from _of_all(view, name, ends)
    if graph.max_sends:
        yield from spread_bound(view)


def _of_npus(view: View, name: str, ends: NDArray[np.int32]) -> Iterator[Bound]:
    """The engines of the NPU that takes longest to send, or to receive, all that leaves or enters it."""
    is_sends, problem = name == "max_sends", view.problem
    need = view.needs.out_of_nodes() if is_sends else view.needs.into_nodes()
    best = (0, 0, 0)
    known: dict[tuple[bytes, int, int], int] = {}  # by links, engines and need: NPUs are often alike
    for npu, most in getattr(problem.graph, name):
        own = ends == npu
        passed, held = problem.passed_ps[own], problem.held_ps[own]
        key = (passed.tobytes() + held.tobytes(), most, int(need[npu]))
        if key not in known:
            known[key] = _least_ps(most, int(need[npu]), passed, held)
        best = max(best, (known[key], -npu, most))
    time_ps, npu, most = best[0], -best[1], best[2]
    if time_ps:
        verb, does = ("leave", "sends") if is_sends else ("enter", "receives")
        what = counted(int(need[npu]), "chunk has", "chunks have")
        links = counted(most, "link", "links")
        yield Bound(_NAME, time_ps, (npu,), f"{what} to {verb} NPU {npu}, which {does} over {links} at once")


def _of_all(view: View, name: str, ends: NDArray[np.int32]) -> Iterator[Bound]:
    """All engines together; of sends, or sums, only where no message ends at a switch."""
    problem, graph = view.problem, view.problem.graph
    collective, is_reducing = problem.collective, problem.collective.is_reducing
    engines = np.bincount(ends, minlength=graph.nodes)[: graph.npus]
    for npu, most in getattr(graph, name):
        engines[npu] = most
    own, total = ends < graph.npus, int(engines.sum())
    tail_ps = int((problem.passed_ps - problem.held_ps)[own].min()) if total else 0
    if total and not (collective.everyone_wants_all or is_reducing):
        busy_ps = weight_of_ways(view, np.where(own, problem.held_ps, 0))
        if busy_ps and not view.deadline.is_over:
            text = f"the ways of all chunks keep engines busy for {busy_ps} ps, and NPUs have {total}"
            yield Bound(_NAME, tail_ps + -(-busy_ps // total), (), text)
    if graph.nodes > graph.npus and (is_reducing or name == "max_sends"):
        return
    need = collective.tree_sends if is_reducing else int(view.needs.into_nodes().sum())
    if not need or not total:
        return
    passed_ps, held_ps = int(problem.passed_ps[own].min()), int(problem.held_ps[own].min())
    time_ps = passed_ps + (-(-need // total) - 1) * held_ps
    yield Bound(_NAME, time_ps, (), f"{need} sends are needed, and NPUs drive {total} links at once")


def _least_ps(most: int, need: int, passed_ps: NDArray[np.int64], held_ps: NDArray[np.int64]) -> int:
    """When so many engines can have sent so many chunks, over the links that hold them least."""
    if not need or not len(held_ps):
        return 0
    links = sorted(zip(held_ps.tolist(), passed_ps.tolist(), strict=True))
    shortest, first = links[0][0], min(passed for _, passed in links)
    tail = min(passed - held for held, passed in links)
    low: int = first + (-(-need // most) - 1) * shortest

    def fits(time_ps: int) -> bool:
        left, busy = need, 0
        for held, passed in links:
            if time_ps >= passed:
                here = left if not held else min(left, 1 + (time_ps - passed) // held)
                left, busy = left - here, busy + here * held
        return not left and busy <= most * (time_ps - tail)

    high = max(passed for _, passed in links) + need * links[-1][0]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle + 1, high)
    return low
