"""Sends as files have them: between nodes, with both times; nothing about them is known to be right."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule


@dataclass(frozen=True, eq=False)
class SendTable:
    """Columns of one length: nodes and chunks (int64), times in ps (int64), `reduce` (bool).

    `link` has the links of sends that are not from a file.
    """

    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    chunk: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    reduce: NDArray[np.bool_]
    link: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        """How many sends there are."""
        return len(self.source)

    @classmethod
    def of(cls, schedule: Schedule) -> SendTable:
        """Return the sends of a schedule, in its order."""
        graph = schedule.problem.graph
        return cls(
            graph.sources[schedule.link].astype(np.int64),
            graph.destinations[schedule.link].astype(np.int64),
            schedule.chunk.astype(np.int64),
            schedule.start_ps,
            schedule.end_ps,
            schedule.reduce,
            schedule.link,
        )

    @property
    def time_ps(self) -> int:
        """When the last send has arrived; 0 without sends."""
        return int(self.end_ps.max()) if len(self) else 0

    def links(self, problem: Problem) -> NDArray[np.int64]:
        """The number of each send's link; -1 where the graph has none.

        A file does not say which of parallel links it is: the one on which the send takes so long, and that
        is free.
        """
        graph = problem.graph
        if self.link is not None:
            return self.link.astype(np.int64)
        keys = graph.sources.astype(np.int64) * graph.nodes + graph.destinations
        order = np.argsort(keys, kind="stable")
        found, is_there = positions(keys[order], self.source * graph.nodes + self.destination)
        is_node = (self.source >= 0) & (self.source < graph.nodes)
        is_node &= (self.destination >= 0) & (self.destination < graph.nodes)
        links = np.where(is_there & is_node, order[found] if len(order) else -1, -1)
        return self._spread(problem, links) if graph.has_parallel_links else links

    def _spread(self, problem: Problem, links: NDArray[np.int64]) -> NDArray[np.int64]:
        """Share sends out among parallel links, of which each has the first so far."""
        graph = problem.graph
        between: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for link, pair in enumerate(zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True)):
            between[pair].append(link)
        several = {links[0]: links for links in between.values() if len(links) > 1}
        arrival_ps, held_ps = problem.arrival_ps.tolist(), problem.held_ps.tolist()
        free_from = [0] * len(graph)
        rows = np.flatnonzero(np.isin(links, list(several)))
        for row in rows[np.argsort(self.start_ps[rows], kind="stable")].tolist():
            start, took = int(self.start_ps[row]), int(self.end_ps[row] - self.start_ps[row])
            chosen = min(
                several[int(links[row])],
                key=lambda link: (abs(arrival_ps[link] - took), free_from[link] > start, held_ps[link]),
            )
            links[row], free_from[chosen] = chosen, max(free_from[chosen], start + held_ps[chosen])
        return links

    def schedule(self, problem: Problem) -> Schedule:
        """Return them as a schedule of a problem; all must be on links, whose times replace the ends."""
        links = self.links(problem).astype(np.int32)
        return Schedule.of(problem, links, self.chunk.astype(np.int32), self.start_ps, self.reduce)


def positions(
    ascending: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where in an ascending array each wanted value first stands (0 where nowhere), and whether it does."""
    found = np.searchsorted(ascending, wanted)
    found[found == len(ascending)] = 0
    is_there = ascending[found] == wanted if len(ascending) else np.zeros(len(wanted), dtype=np.bool_)
    return np.where(is_there, found, 0), is_there
