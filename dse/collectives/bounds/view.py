"""A problem as lower bounds see it: links with their times, and what has to be sent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dse.base.cancellation import NEVER as NEVER_LATE
from dse.base.cancellation import Deadline
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.bounds.needs import Needs
from dse.collectives.problem.problem import Problem
from dse.inputs.networks.translations import Translations


@dataclass(frozen=True, eq=False)
class View:
    """The links and needs of a problem whose collective is none that is judged backwards.

    When `deadline` is over no further bounds are looked for.
    """

    problem: Problem
    deadline: Deadline = NEVER_LATE

    @cached_property
    def needs(self) -> Needs:
        """The chunks that have to be sent."""
        return Needs(self.problem.collective, self.problem.graph.nodes)

    @cached_property
    def group(self) -> Translations | None:
        """The translations that make all NPUs alike, links and needs, if anything does."""
        if self.problem.collective.name not in ("all_gather", "all_to_all", "all_reduce"):
            return None
        return self.problem.graph.translations

    @cached_property
    def links(self) -> solvers.TimedLinks:
        """The links as the engine has them."""
        graph = self.problem.graph
        ends = (graph.sources, graph.destinations)
        times = (self.problem.arrival_ps, self.problem.held_ps)
        return solvers.TimedLinks(graph.npus, graph.nodes, ends, times, self.own)

    @cached_property
    def own(self) -> int:
        """How many chunks each NPU has first that others want, where its links may wait for more; or 0."""
        collective = self.problem.collective
        return collective.chunks_per_npu if collective.name in ("all_gather", "gather") else 0

    def deliveries_ps(self, chosen: NDArray[np.bool_], need: int) -> int:
        """When chosen links can have delivered so many messages, none before it can be at their start."""
        problem, graph = self.problem, self.problem.graph
        if not need or not chosen.any():
            return NEVER if need else 0
        ends = (graph.sources[chosen], graph.destinations[chosen])
        times = (problem.arrival_ps[chosen], problem.held_ps[chosen])
        links = solvers.TimedLinks(graph.npus, graph.nodes, ends, times, self.own)
        return int(links.all_deliveries(need, self.first_ps, npus_only=False))

    def weighed(self, weights: NDArray[np.int64]) -> solvers.TimedLinks:
        """The links with weights in place of times."""
        graph = self.problem.graph
        ends = (graph.sources, graph.destinations)
        return solvers.TimedLinks(graph.npus, graph.nodes, ends, (weights, weights), 0)

    def ways_from(self, links: solvers.TimedLinks, npu: int, *, towards: bool = False) -> NDArray[np.int64]:
        """Per node how far it is from an NPU (towards it, if said), 0 where there is no way."""
        ways = links.distances(np.array([npu], dtype=np.uint32), reversed=towards)
        ways[(ways == NEVER) | (np.arange(len(ways)) >= self.problem.graph.npus)] = 0
        return ways

    def distances(self, nodes: NDArray[np.integer], *, towards: bool) -> NDArray[np.int64]:
        """Per node how far the nearest of some is (on the way towards it, if said), LATE without a way."""
        return np.minimum(self.links.distances(nodes.astype(np.uint32), reversed=towards), LATE)

    def _away_ps(self, nodes: NDArray[np.uint32], towards: bool) -> NDArray[np.int64]:
        if len(nodes) == self.problem.graph.nodes:
            return np.zeros(len(nodes), dtype=np.int64)
        return self.links.distances(nodes, reversed=towards)

    @cached_property
    def first_ps(self) -> NDArray[np.int64]:
        """Per node before when it has no chunk that others want: how far the nearest first holder is."""
        return self._away_ps(self.needs.holders, towards=False)

    @cached_property
    def last_ps(self) -> NDArray[np.int64]:
        """Per node how long before the end a chunk has to be there: how far the nearest that wants one is."""
        return self._away_ps(self.needs.takers, towards=True)


# What the engine has for "never".
NEVER = (1 << 63) - 1
LATE = NEVER // 8  # later than all times, and small enough to be added


@dataclass(frozen=True)
class Bound:
    """No schedule takes less than `time_ps`.

    `text` is the argument, with the numbers that a reader needs to check it by hand. It is about `nodes`
    (empty: all), and, where chunks enter one set of nodes and then another inside of it, about `inner`.
    `weights` are those of the links, one each, where the argument weighs deliveries.
    """

    name: str
    time_ps: int
    nodes: tuple[int, ...]
    text: str
    inner: tuple[int, ...] = ()
    weights: tuple[int, ...] = ()


@dataclass
class Strongest:
    """The strongest bound of a name so far: the nodes are listed for those alone that are stronger."""

    name: str
    time_ps: int = 0

    def raised_to(self, time_ps: int) -> bool:
        """Whether a time is a bound that is stronger."""
        if not self.time_ps < time_ps < NEVER:
            return False
        self.time_ps = time_ps
        return True


NONE = Bound("none", 0, (), "nothing has to be sent")
