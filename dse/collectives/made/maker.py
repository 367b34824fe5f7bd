"""The schedules of a collective on a graph by a recipe: from disk, or made, once in a process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dse.collectives.made import kept
from dse.collectives.made.kept import Solved
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.problem import MIRRORED, LinkModel, Problem
from dse.collectives.search.reductions import halves
from dse.collectives.search.synthesizers.base import Effort
from dse.inputs.networks import LinkGraph
from dse.inputs.strategies import InfeasibleStrategy

_EFFORT = Effort(trials=20)  # without a time limit, so that schedules do not depend on the machine
_MOST_REMEMBERED = 2048
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Recipe:
    """How links count time, which sizes schedules are made for, and what makes them.

    `made_for` has pairs of chunks a member and bytes a chunk: a message takes the fastest of their schedules.
    Of pairs with more than one chunk, those are left out that cut all members' data into more than
    `most_places` chunks. Of the schedules of `synthesizers` the best one counts. With `must_make` the only
    synthesizer must take the problem.
    """

    model: LinkModel
    made_for: tuple[tuple[int, int], ...]
    most_places: int
    synthesizers: tuple[str, ...]
    must_make: bool = False


class _Graph:
    """A graph by its content, as a key."""

    def __init__(self, graph: LinkGraph) -> None:
        self.graph = graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Graph) and self.graph.digest == other.graph.digest

    def __hash__(self) -> int:
        return hash(self.graph.digest)


def schedules_for(collective: str, graph: LinkGraph, recipe: Recipe) -> tuple[Solved, ...]:
    """Return the schedules of a collective on a graph; those of equal graphs are the same objects.

    Raises:
        InfeasibleStrategy: the recipe's synthesizer must make them and cannot.
    """
    with _one_at_a_time:  # threads of a sweep need the same ones
        return _schedules_for(collective, _Graph(graph), recipe)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _schedules_for(collective: str, key: _Graph, recipe: Recipe) -> tuple[Solved, ...]:
    """The schedules that another process has kept on disk, or new ones, which are kept."""
    graph = key.graph
    if kept.folder() is None:
        return _solved(collective, graph, recipe)

    def problem(chunks: int, chunk_bytes: int) -> Problem:
        if (chunks, chunk_bytes) not in recipe.made_for:
            raise ValueError(f"{chunks} chunks of {chunk_bytes} bytes are not made here")
        return _problem(collective, graph, recipe, chunks, chunk_bytes)

    name = kept.key_of(
        {
            "collective": collective,
            "graph": graph.digest,
            "made_for": recipe.made_for,
            "most_places": recipe.most_places,
            "model": recipe.model,
            "synthesizers": recipe.synthesizers,
            "effort": [_EFFORT.seed, _EFFORT.trials],
        }
    )
    found = kept.read(name, problem)
    if found is not None:
        return tuple(found)
    made = _solved(collective, graph, recipe)
    kept.write(name, made)
    return made


def _solved(collective: str, graph: LinkGraph, recipe: Recipe) -> tuple[Solved, ...]:
    made: dict[tuple[int, bytes], Solved] = {}
    for chunks, chunk_bytes in recipe.made_for:
        if chunks > 1 and graph.npus * graph.npus * chunks > recipe.most_places:
            continue
        found = _synthesized(_problem(collective, graph, recipe, chunks, chunk_bytes), recipe)
        order = (chunks, found.schedule.link.tobytes() + found.schedule.chunk.tobytes())
        made.setdefault(order, found)
    return tuple(made.values())


def _problem(collective: str, graph: LinkGraph, recipe: Recipe, chunks: int, chunk_bytes: int) -> Problem:
    return Problem(graph, Collective(collective, graph.npus, chunks), Fraction(chunk_bytes), recipe.model)


def _synthesized(problem: Problem, recipe: Recipe) -> Solved:
    """The best schedule of a problem, and its lower bound."""
    from dse.collectives.search.overlap import Overlaps
    from dse.collectives.search.synthesis import synthesize
    from dse.collectives.search.synthesizers.registry import make_synthesizer

    solved = problem.mirrored if problem.collective.name in MIRRORED else problem
    if problem.collective.name == "all_reduce":
        solved = halves(problem)[1]
    results, overlaps = [], Overlaps()
    for maker in map(make_synthesizer, recipe.synthesizers):
        obstacle = maker.refusal(solved)
        if obstacle is None:
            results.append(synthesize(problem, maker, _EFFORT, compare=False, overlaps=overlaps))
            if results[-1].is_optimal:
                break
        elif recipe.must_make:
            what = f"{problem.collective.name} among {problem.graph.npus} NPUs"
            raise InfeasibleStrategy(f"{what} cannot be made by {recipe.synthesizers[0]}: {obstacle}")
    best = min(results, key=lambda result: result.time_ps)
    return Solved(best.schedule, best.bound_ps)
