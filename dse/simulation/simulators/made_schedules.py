"""The schedules of a collective on a graph: from disk, or made, once in a process; in the engine's form."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from dse.collectives import Collective, LinkModel, Problem
from dse.collectives.problem.problem import MIRRORED
from dse.collectives.search.reductions import halves
from dse.collectives.search.replay import Replay
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.times_by_size import Curve, curve
from dse.inputs.networks import LinkGraph
from dse.inputs.strategies import InfeasibleStrategy
from dse.simulation.simulators import kept_schedules
from dse.simulation.simulators.kept_schedules import Solved

if TYPE_CHECKING:
    from dse.native import _engine

# As the congestion-aware simulation counts: 2^30 bytes, and links that are free when the bytes have entered.
MODEL = LinkModel("gib", "bandwidth", "ps")
# Chunk sizes that schedules are made for, and chunks a member: each message takes the fastest of them.
_CHUNK_BYTES = (1 << 12, 1 << 22)
_CHUNKS = (1, 4)
_MOST_PLACES_CUT = 4096  # with more pairs of member and chunk, chunks are not cut further
# Of these the better one; both take no longer than a few simulations, whatever the graph.
_SYNTHESIZERS = ("symmetric", "restarts")
_EFFORT = Effort(trials=20)  # without a time limit, so that schedules do not depend on the machine
_MOST_REMEMBERED = 1024
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Made:
    """Schedules for one collective on one graph, with the bound of each; and their form for the engine."""

    curves: tuple[Curve, ...]
    bounds_ps: tuple[int, ...]
    native: _engine.SynthesizedCollective

    @property
    def gaps(self) -> list[float]:
        """By what share each schedule exceeds its bound, at the size that it was made for."""
        made = zip(self.curves, self.bounds_ps, strict=True)
        return [each.schedule.time_ps / bound_ps - 1 if bound_ps else 0.0 for each, bound_ps in made]


class _Graph:
    """A graph by its content, as a key."""

    def __init__(self, graph: LinkGraph) -> None:
        self.graph = graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Graph) and self.graph.digest == other.graph.digest

    def __hash__(self) -> int:
        return hash(self.graph.digest)


def schedules_for(collective: str, graph: LinkGraph, synthesizer: str | None = None) -> Made:
    """Return the schedules of a collective on a graph; those of equal graphs are the same."""
    with _one_at_a_time:  # threads of a sweep need the same ones
        return _schedules_for(collective, _Graph(graph), synthesizer)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _schedules_for(collective: str, key: _Graph, synthesizer: str | None) -> Made:
    from dse.native import _engine

    graph = key.graph
    solved = _kept_or_made(collective, graph, synthesizer)
    curves = tuple(curve(each.schedule) for each in solved)
    sources, destinations = graph.sources.tolist(), graph.destinations.tolist()
    native = _engine.SynthesizedCollective(
        graph.npus,
        [
            (
                Replay(each.schedule).native,
                sources,
                destinations,
                each.schedule.problem.collective.chunks_per_npu,
                [(float(line.base_ps), float(line.ps_per_byte)) for line in each.lines],
            )
            for each in curves
        ],
    )
    return Made(curves, tuple(each.bound_ps for each in solved), native)


def _kept_or_made(collective: str, graph: LinkGraph, synthesizer: str | None) -> list[Solved]:
    """The schedules that another process has kept on disk, or new ones, which are kept."""
    if kept_schedules.folder() is None:
        return _solved(collective, graph, synthesizer)

    def problem(chunks: int, chunk_bytes: int) -> Problem:
        if chunks not in _CHUNKS or chunk_bytes not in _CHUNK_BYTES:
            raise ValueError(f"{chunks} chunks of {chunk_bytes} bytes are not made here")
        return _problem(collective, graph, chunks, chunk_bytes)

    key = kept_schedules.key_of(
        {
            "collective": collective,
            "chunks": _CHUNKS,
            "graph": graph.digest,
            "chunk_bytes": _CHUNK_BYTES,
            "model": MODEL,
            "synthesizers": _SYNTHESIZERS if synthesizer is None else [synthesizer],
            "effort": [_EFFORT.seed, _EFFORT.trials],
        }
    )
    solved = kept_schedules.read(key, problem)
    if solved is None:
        solved = _solved(collective, graph, synthesizer)
        kept_schedules.write(key, solved)
    return solved


def _solved(collective: str, graph: LinkGraph, synthesizer: str | None) -> list[Solved]:
    made: dict[tuple[int, bytes], Solved] = {}
    for chunks in _CHUNKS:
        if chunks > 1 and graph.npus * graph.npus * chunks > _MOST_PLACES_CUT:
            continue
        for chunk_bytes in _CHUNK_BYTES:
            found = _synthesized(_problem(collective, graph, chunks, chunk_bytes), synthesizer)
            order = (chunks, found.schedule.link.tobytes() + found.schedule.chunk.tobytes())
            made.setdefault(order, found)
    return list(made.values())


def _problem(collective: str, graph: LinkGraph, chunks: int, chunk_bytes: int) -> Problem:
    return Problem(graph, Collective(collective, graph.npus, chunks), Fraction(chunk_bytes), MODEL)


def _synthesized(problem: Problem, chosen: str | None) -> Solved:
    """The best schedule of a problem, and its lower bound."""
    from dse.collectives.search.synthesis import synthesize
    from dse.collectives.search.synthesizers.registry import make_synthesizer

    solved = problem.mirrored if problem.collective.name in MIRRORED else problem
    if problem.collective.name == "all_reduce":
        solved = halves(problem)[1]
    results = []
    for maker in map(make_synthesizer, _SYNTHESIZERS if chosen is None else (chosen,)):
        obstacle = maker.obstacle(solved)
        if obstacle is None:
            results.append(synthesize(problem, maker, _EFFORT, compare=False))
            if results[-1].is_optimal:
                break
        elif chosen is not None:
            what = f"{problem.collective.name} among {problem.graph.npus} NPUs"
            raise InfeasibleStrategy(f"{what} cannot be made by {chosen}: {obstacle}")
    best = min(results, key=lambda result: result.time_ps)
    return Solved(best.schedule, best.bound_ps)
