"""What is to be synthesised: a collective on the links of a graph, with chunks of a size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from dse.collectives.collective import Collective
from dse.networks import LinkGraph, LinkKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dse import solvers

MIRRORED = {"reduce_scatter": "all_gather", "reduce": "broadcast", "gather": "scatter"}


class LinkModel(NamedTuple):
    """How long a chunk takes on a link (section 2 of the specification of synthesis).

    `gb`: a GB/s is 10^9 or 2^30 bytes per second. `occupancy`: the link is held until the chunk has arrived
    (`total`), or while its bytes enter (`bandwidth`). `clock`: times are floored to ps or to whole ns.
    """

    gb: Literal["1e9", "gib"] = "1e9"
    occupancy: Literal["total", "bandwidth"] = "total"
    clock: Literal["ps", "ns"] = "ps"

    def times_ps(self, kind: LinkKind, chunk_bytes: Fraction | int) -> tuple[int, int]:
        """After how many ps a chunk has arrived, and how long it holds the link; exact, floored once."""
        bytes_per_gb = 10**9 if self.gb == "1e9" else 2**30
        serial_ps = Fraction(chunk_bytes) * 10**12 / (kind.bandwidth_gbps * bytes_per_gb)
        tick_ps = 1 if self.clock == "ps" else 1000
        arrival = int((kind.latency_ns * 1000 + serial_ps) / tick_ps) * tick_ps
        return arrival, arrival if self.occupancy == "total" else int(serial_ps / tick_ps) * tick_ps


DEFAULT_MODEL = LinkModel()


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective among the NPUs of a graph, with chunks of `chunk_bytes` bytes."""

    graph: LinkGraph
    collective: Collective
    chunk_bytes: Fraction
    model: LinkModel = DEFAULT_MODEL

    @cached_property
    def times_of_kinds(self) -> NDArray[np.int64]:
        """Per kind of link after how many ps a chunk arrives, and how long it is held; shape (kinds, 2)."""
        import numpy as np

        times = [self.model.times_ps(kind, self.chunk_bytes) for kind in self.graph.kinds]
        return np.array(times, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def arrival_ps(self) -> NDArray[np.int64]:
        """Per link after how many ps a chunk has arrived."""
        column: NDArray[np.int64] = self.times_of_kinds[self.graph.kind_of, 0]
        return column

    @cached_property
    def held_ps(self) -> NDArray[np.int64]:
        """Per link for how many ps a chunk holds it."""
        column: NDArray[np.int64] = self.times_of_kinds[self.graph.kind_of, 1]
        return column

    @cached_property
    def mirrored(self) -> Problem:
        """The problem whose schedules, run backwards, solve this one: section 4 of the specification.

        Raises:
            KeyError: the collective is none of reduce-scatter, reduce and gather.
        """
        collective = replace(self.collective, name=MIRRORED[self.collective.name])
        return replace(self, graph=self.graph.transposed, collective=collective)

    @cached_property
    def native(self) -> solvers.CollectiveProblem:
        """The problem as the engine's searches take it; only of collectives that do not reduce."""
        from dse import solvers

        graph, collective = self.graph, self.collective
        wants = None if collective.everyone_wants_all else collective.wants()
        return solvers.CollectiveProblem(
            graph.npus,
            graph.nodes,
            (graph.sources, graph.destinations),
            (self.arrival_ps, self.held_ps),
            collective.chunks,
            collective.holdings(),
            wants,
        )
