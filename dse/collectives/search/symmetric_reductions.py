"""All-reduces that some translations of the NPUs keep: few chunks are made, the others follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.reductions import halves
from dse.collectives.search.synthesizers.base import Effort
from dse.collectives.search.synthesizers.searches import limited
from dse.inputs.networks.translations import Translations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_DIGITS = 4  # that are left, one at a time


@dataclass(frozen=True, eq=False)
class Orbits:
    """Links and chunks of a problem that translations lead to each other, those by `shifts` (nodes, int64).

    A link's lane (`lanes`, int32 per link) is the same as that of its translations; `made` (int32) has one
    chunk of each orbit. If the sends of these do not meet in any lane, those of all chunks do not meet on
    any link, as different shifts lead to different links.
    """

    problem: Problem
    group: Translations
    shifts: NDArray[np.int64]
    lanes: NDArray[np.int32]
    made: NDArray[np.int32]

    def part_of(self, schedule: Schedule) -> Schedule | None:
        """Return the sends of the chunks `made` of a schedule; None if the translations do not keep it."""
        import numpy as np

        own = np.isin(schedule.chunk, self.made)
        columns = (schedule.link[own], schedule.chunk[own], schedule.start_ps[own], schedule.reduce[own])
        part = Schedule.of(self.problem, *columns)
        return part if _same_sends(self.expanded(part), schedule) else None

    def search(self, start: Schedule | None, effort: Effort, steps: int) -> Schedule | None:
        """Return an all-reduce that the translations keep; None if they do not keep `start`."""
        part = None if start is None else self.part_of(start)
        if start is not None and part is None:
            return None
        return self.expanded(search_sums(self.problem, part, effort, steps, self.lanes, self.made))

    def expanded(self, part: Schedule) -> Schedule:
        """Return the schedule of all chunks, from that of `made`."""
        import numpy as np

        npus = self.problem.graph.npus
        generator = np.empty(len(self.problem.graph), dtype=np.int64)
        generator[self.group.link_of] = np.arange(self.group.link_of.shape[1])
        there = self.problem.graph.sources[part.link].astype(np.int64)
        nodes = self.group.add(there[:, None], self.shifts)
        owners = self.group.add((part.chunk % npus).astype(np.int64)[:, None], self.shifts)
        chunk = (part.chunk // npus * npus).astype(np.int64)[:, None] + owners
        return Schedule.of(
            self.problem,
            self.group.link_of[nodes, generator[part.link][:, None]].ravel(),
            chunk.astype(np.int32).ravel(),
            np.repeat(part.start_ps, len(self.shifts)),
            np.repeat(part.reduce, len(self.shifts)),
        )


def search_sums(
    problem: Problem,
    start: Schedule | None,
    effort: Effort,
    steps: int,
    lanes: NDArray[np.int32] | None = None,
    made: NDArray[np.int32] | None = None,
) -> Schedule:
    """Return an all-reduce of which chunks were freed, sums and copies, and put into the gaps again.

    From `start`, whose sums go up trees, or from nothing; of all chunks, or of those `made`, see Orbits.
    """
    import numpy as np

    from dse.base import solvers

    has_sums = problem.collective.kind == "all_reduce"
    of_copies = halves(problem)[1] if has_sums else problem
    nothing = np.empty(0, dtype=np.int32)
    columns = (nothing, nothing, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))
    if start is not None:
        columns = (start.link, start.chunk, start.start_ps, start.reduce.astype(np.uint8))
    orbits = (nothing if lanes is None else lanes, nothing if made is None else made)
    with limited(effort) as cancellation:
        (link, chunk, start_ps), sums, _ = solvers.search_sums(
            of_copies.native, has_sums, *columns, *orbits, effort.seed, steps, effort.enough_ps, cancellation
        )
    return Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)


def families(problem: Problem) -> Iterator[Orbits]:
    """Orbits under the translations that leave a digit of the nodes' numbers, small digits first.

    Those of all translations only if NPUs have several chunks: where a chunk stands for all others, the
    sums of all are complete at the same moment, when a reduce-scatter is done, and nothing is gained over
    a barrier. Nothing for graphs without translations.
    """
    import numpy as np

    group = problem.graph.translations
    if group is None:
        return
    nodes = np.arange(problem.graph.npus, dtype=np.int64)
    first_of = [digit * stride for digit, stride in zip(group.digits(nodes), group.strides, strict=True)]
    digits = sorted(range(len(group.sizes)), key=lambda digit: group.sizes[digit])[:_MOST_DIGITS]
    kept = [first_of[digit] for digit in digits] if len(group.sizes) > 1 else []
    if problem.collective.chunks_per_npu > 1:
        kept.append(np.zeros_like(nodes))
    chunks = np.arange(problem.collective.chunks, dtype=np.int32)
    owners = chunks % problem.graph.npus
    for first in kept:
        lanes = np.empty(len(problem.graph), dtype=np.int32)
        lanes[group.link_of] = group.link_of[first]
        yield Orbits(problem, group, nodes[first == 0], lanes, chunks[first[owners] == owners])


def _same_sends(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules of a problem have the same sends, in any order."""
    import numpy as np

    if len(one) != len(other):
        return False
    orders = [np.lexsort((s.reduce, s.chunk, s.link, s.start_ps)) for s in (one, other)]
    columns = ("link", "chunk", "start_ps", "reduce")
    return all(
        bool((getattr(one, name)[orders[0]] == getattr(other, name)[orders[1]]).all()) for name in columns
    )
