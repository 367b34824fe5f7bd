"""Whether every chunk has a way to where it is wanted; asked before any search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.collective import CUSTOM, SEVERAL, Collective
from dse.collectives.problem.problem import Problem
from dse.inputs.networks import LinkGraph


def require_ways(problem: Problem) -> None:
    """Refuse a problem in which a chunk cannot get to an NPU that wants it.

    Raises:
        InputError: names both NPUs.
    """
    graph, collective = problem.graph, problem.collective
    if collective.kind == SEVERAL:
        for part in collective.parts:
            require_ways(replace(problem, collective=Collective.of_part(part, graph.npus)))
        return
    if collective.name == CUSTOM:
        _require_custom(problem)
        return
    if collective.name not in ("gather", "reduce"):
        lost = np.flatnonzero(~reached(graph, [collective.root])[: graph.npus])
        if len(lost):
            raise _no_way(problem, collective.root, int(lost[0]))
    if collective.name not in ("broadcast", "scatter"):
        lost = np.flatnonzero(~reached(graph.transposed, [collective.root])[: graph.npus])
        if len(lost):
            raise _no_way(problem, int(lost[0]), collective.root)


def _require_custom(problem: Problem) -> None:
    """A chunk needs a way from one of its holders, a sum one from each NPU that contributes."""
    collective = problem.collective
    holders, contributors = (_by_chunk(collective.holdings()), _by_chunk(collective.contributions()))
    known: dict[tuple[int, ...], NDArray[np.bool_]] = {}
    for npu, chunk in zip(*(column.tolist() for column in collective.wants()), strict=True):
        held = holders.get(chunk)
        for sources in [tuple(held)] if held else [(source,) for source in contributors[chunk]]:
            if sources not in known:
                known[sources] = reached(problem.graph, sources)
            if not known[sources][npu]:
                raise _no_way(problem, sources[0], npu)


def _by_chunk(pairs: tuple[NDArray[np.int32], NDArray[np.int32]]) -> dict[int, list[int]]:
    found: defaultdict[int, list[int]] = defaultdict(list)
    for npu, chunk in zip(*(column.tolist() for column in pairs), strict=True):
        found[chunk].append(npu)
    return found


def reached(graph: LinkGraph, sources: Iterable[int]) -> NDArray[np.bool_]:
    """The nodes that can be reached from one of the sources."""
    from dse.collectives.bounds.view import NEVER

    once = np.ones(len(graph), dtype=np.int64)
    links = solvers.TimedLinks(graph.npus, graph.nodes, (graph.sources, graph.destinations), (once, once), 0)
    found: NDArray[np.bool_] = links.distances(np.array([*sources], dtype=np.uint32)) != NEVER
    return found


def _no_way(problem: Problem, source: int, destination: int) -> InputError:
    return InputError(
        f"topology has no way from NPU {source} to NPU {destination}, which {problem.collective.kind} needs; "
        "add links"
    )
