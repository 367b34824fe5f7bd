"""A synthesis problem: a collective on the links of a graph, with chunks of a size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple, get_args, get_type_hints

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.collective import Collective
from dse.collectives.problem.cut_through import check_cut_through, shortest_serial_ps
from dse.inputs.networks import LinkGraph, LinkKind

MIRRORED = {"reduce_scatter": "all_gather", "reduce": "broadcast", "gather": "scatter"}


class LinkModel(NamedTuple):
    """How long a chunk takes on a link (docs/synthesis.md).

    `gb`: a GB/s is 10^9 or 2^30 bytes per second. `occupancy`: the link is held until the chunk has arrived
    (`total`), or while its bytes enter (`bandwidth`). `clock`: times are floored to ps or to whole ns.
    `forwarding`: a switch sends a chunk on when all of it is there (`stored`), or while it arrives
    (`cut_through`); then links at switches are held while bytes enter, whatever the occupancy.
    """

    gb: Literal["1e9", "gib"] = "1e9"
    occupancy: Literal["total", "bandwidth"] = "total"
    clock: Literal["ps", "ns"] = "ps"
    forwarding: Literal["stored", "cut_through"] = "stored"

    def times_ps(self, kind: LinkKind, chunk_bytes: Fraction | int) -> tuple[int, int]:
        """After how many ps a chunk has arrived, and how long it holds the link; exact, floored once."""
        serial_ps = self._serial_ps(kind, chunk_bytes)
        arrival = self._floored(kind.latency_ns * 1000 + serial_ps)
        return arrival, arrival if self.occupancy == "total" else self._floored(serial_ps)

    def cut_times_ps(self, kind: LinkKind, chunk_bytes: Fraction | int) -> tuple[int, int]:
        """After how many ps the first byte of a chunk has arrived, and for how long bytes enter the link."""
        return self._floored(kind.latency_ns * 1000), self._floored(self._serial_ps(kind, chunk_bytes))

    @property
    def tick_ps(self) -> int:
        """The tick: all times are whole multiples of it."""
        return 1 if self.clock == "ps" else 1000

    def _serial_ps(self, kind: LinkKind, chunk_bytes: Fraction | int) -> Fraction:
        bytes_per_gb = 10**9 if self.gb == "1e9" else 2**30
        return Fraction(chunk_bytes) * 10**12 / (kind.bandwidth_gbps * bytes_per_gb)

    def _floored(self, time_ps: Fraction) -> int:
        return int(time_ps / self.tick_ps) * self.tick_ps


DEFAULT_MODEL = LinkModel()
LINK_CHOICES: dict[str, tuple[str, ...]] = {
    name: get_args(kind) for name, kind in get_type_hints(LinkModel).items()
}
"""The values that each field of a link model may have."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A collective among the NPUs of a graph, with chunks of `chunk_bytes` bytes."""

    graph: LinkGraph
    collective: Collective
    chunk_bytes: Fraction
    model: LinkModel = DEFAULT_MODEL

    def __post_init__(self) -> None:
        """Refuse switches that cannot forward chunks while they arrive.

        Raises:
            InputError: as check_cut_through.
        """
        if self.cuts_through:
            check_cut_through(self.graph, self.model.tick_ps)

    def check_takes_time(self) -> None:
        """Refuse links on which a chunk takes no time: a schedule of such may be replayed, not looked for.

        Raises:
            InputError: names the first such link's bandwidth.
        """
        for kind in self.graph.kinds:
            if self.model.times_ps(kind, self.chunk_bytes)[0] < 1:
                raise InputError(
                    f"chunk_bytes is {float(self.chunk_bytes):g}: a chunk takes 0 {self.model.clock} on a "
                    f"link of {float(kind.bandwidth_gbps):g} GB/s, which cannot be scheduled; take larger "
                    "chunks or another clock"
                )

    @property
    def cuts_through(self) -> bool:
        """Whether switches forward chunks while they arrive."""
        return self.model.forwarding == "cut_through"

    @cached_property
    def times_of_kinds(self) -> NDArray[np.int64]:
        """Per kind of link after how many ps a chunk arrives, and how long it is held; shape (kinds, 2).

        Links at switches that cut through differ; `distinct_times` has what occurs.
        """
        times = [self.model.times_ps(kind, self.chunk_bytes) for kind in self.graph.kinds]
        return np.array(times, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def arrival_ps(self) -> NDArray[np.int64]:
        """Per link after how many ps a chunk can be sent on: it has arrived.

        Where the link leads to a switch that cuts through, so much has that no link of the switch runs dry.
        """
        if not self.cuts_through:
            return self.passed_ps
        graph = self.graph
        first_ps, serial_ps = self._cut_times_of_kinds[graph.kind_of].T
        ahead_ps = serial_ps - shortest_serial_ps(graph, serial_ps)[graph.destinations]
        return np.where(graph.destinations >= graph.npus, first_ps + ahead_ps, self.passed_ps)

    @cached_property
    def passed_ps(self) -> NDArray[np.int64]:
        """Per link after how many ps all of a chunk has arrived."""
        column: NDArray[np.int64] = self.times_of_kinds[self.graph.kind_of, 0]
        return column

    @cached_property
    def held_ps(self) -> NDArray[np.int64]:
        """Per link for how many ps a chunk holds it."""
        column: NDArray[np.int64] = self.times_of_kinds[self.graph.kind_of, 1]
        if not self.cuts_through:
            return column
        graph = self.graph
        is_cut = (graph.destinations >= graph.npus) | (graph.sources >= graph.npus)
        return np.where(is_cut, self._cut_times_of_kinds[graph.kind_of, 1], column)

    @cached_property
    def distinct_times(self) -> NDArray[np.int64]:
        """The pairs of arrival and hold that links have, in ps; shape (pairs, 2)."""
        if not self.cuts_through:
            return self.times_of_kinds
        return np.unique(np.stack([self.arrival_ps, self.held_ps], axis=1), axis=0)

    @cached_property
    def _cut_times_of_kinds(self) -> NDArray[np.int64]:
        times = [self.model.cut_times_ps(kind, self.chunk_bytes) for kind in self.graph.kinds]
        return np.array(times, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def mirrored(self) -> Problem:
        """The problem whose schedules, run backwards, solve this one.

        Raises:
            KeyError: the collective is none of reduce-scatter, reduce and gather.
        """
        collective = self.collective.renamed(MIRRORED[self.collective.kind])
        return replace(self, graph=self.graph.transposed, collective=collective)

    def __getstate__(self) -> dict[str, object]:
        """Leave out the engine's form, which is made again where it is needed."""
        return {name: value for name, value in vars(self).items() if name != "native"}

    @cached_property
    def native(self) -> solvers.CollectiveProblem:
        """The problem as the engine's searches take it; only of collectives that do not reduce."""
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
            (graph.copies, graph.adds),
            graph.engines,
        )
