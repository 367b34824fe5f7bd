"""The schedules of a collective on a graph for the congestion-aware simulation, in the engine's form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from dse.base.lazy import _engine
from dse.collectives import LinkModel
from dse.collectives.made import Recipe, Solved
from dse.collectives.made import schedules_for as made_for
from dse.collectives.search.replay import Replay
from dse.collectives.search.times_by_size import Curve, curve
from dse.inputs.networks import LinkGraph

# As the congestion-aware simulation counts: 2^30 bytes, and links that are free when the bytes have entered.
MODEL = LinkModel("gib", "bandwidth", "ps")
_MADE_FOR = tuple([(chunks, chunk_bytes) for chunks in (1, 4) for chunk_bytes in (1 << 12, 1 << 22)])
_MOST_PLACES = 4096
# Of these the better one; both take no longer than a few simulations, whatever the graph.
_SYNTHESIZERS = ("symmetric", "restarts")
_MOST_REMEMBERED = 1024


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


def recipe_of(synthesizer: str | None = None) -> Recipe:
    """Return how schedules are made by one synthesizer; None means the better one of two."""
    chosen = _SYNTHESIZERS if synthesizer is None else (synthesizer,)
    return Recipe(MODEL, _MADE_FOR, _MOST_PLACES, chosen, must_make=synthesizer is not None)


def schedules_for(collective: str, graph: LinkGraph, synthesizer: str | None = None) -> Made:
    """Return the schedules of a collective on a graph; those of equal graphs are the same.

    Raises:
        InfeasibleStrategy: the synthesizer cannot make them.
    """
    return _in_native_form(made_for(collective, graph, recipe_of(synthesizer)))


@lru_cache(maxsize=_MOST_REMEMBERED)
def _in_native_form(solved: tuple[Solved, ...]) -> Made:
    curves = tuple([curve(each.schedule) for each in solved])
    graph = solved[0].schedule.problem.graph
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
    return Made(curves, tuple([each.bound_ps for each in solved]), native)
