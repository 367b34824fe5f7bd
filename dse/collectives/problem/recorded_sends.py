"""Sends as files have them: between nodes, with both times; nothing about them is known to be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dse.inputs.networks import LinkGraph


@dataclass(frozen=True, eq=False)
class SendTable:
    """Columns of one length: nodes and chunks (int64), times in ps (int64), `reduce` (bool)."""

    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    chunk: NDArray[np.int64]
    start_ps: NDArray[np.int64]
    end_ps: NDArray[np.int64]
    reduce: NDArray[np.bool_]

    def __len__(self) -> int:
        """How many sends there are."""
        return len(self.source)

    @classmethod
    def of(cls, schedule: Schedule) -> SendTable:
        """Return the sends of a schedule, in its order."""
        import numpy as np

        graph = schedule.problem.graph
        return cls(
            graph.sources[schedule.link].astype(np.int64),
            graph.destinations[schedule.link].astype(np.int64),
            schedule.chunk.astype(np.int64),
            schedule.start_ps,
            schedule.end_ps,
            schedule.reduce,
        )

    @property
    def time_ps(self) -> int:
        """When the last send has arrived; 0 without sends."""
        return int(self.end_ps.max()) if len(self) else 0

    def links(self, graph: LinkGraph) -> NDArray[np.int64]:
        """The number of each send's link; -1 where the graph has none."""
        import numpy as np

        keys = graph.sources.astype(np.int64) * graph.nodes + graph.destinations
        order = np.argsort(keys)
        found, is_there = positions(keys[order], self.source * graph.nodes + self.destination)
        is_node = (self.source >= 0) & (self.source < graph.nodes)
        is_node &= (self.destination >= 0) & (self.destination < graph.nodes)
        return np.where(is_there & is_node, order[found] if len(order) else -1, -1)

    def schedule(self, problem: Problem) -> Schedule:
        """Return them as a schedule of a problem; all must be on links, whose times replace the ends."""
        import numpy as np

        links = self.links(problem.graph).astype(np.int32)
        return Schedule.of(problem, links, self.chunk.astype(np.int32), self.start_ps, self.reduce)


def positions(
    ascending: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where in an ascending array each wanted value first stands (0 where nowhere), and whether it does."""
    import numpy as np

    found = np.searchsorted(ascending, wanted)
    found[found == len(ascending)] = 0
    is_there = ascending[found] == wanted if len(ascending) else np.zeros(len(wanted), dtype=np.bool_)
    return np.where(is_there, found, 0), is_there
