"""Whether sums are right: contributions followed through all sends of a reducing collective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dse.base.lazy import NDArray, np
from dse.collectives.check.passages import Passages
from dse.collectives.check.verdict import Violations
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.recorded_sends import SendTable

_BLOCK_BYTES = 1 << 26
_COMES, _GOES = 0, 1


def check_sums(
    problem: Problem,
    sends: SendTable,
    rows: NDArray[np.int64],
    found: Violations,
    slack_ps: int,
    passages: Passages,
) -> None:
    """Rules 3, 4 and 5 with sums, for the sends of `rows`; `passages` carry what came, as it came.

    Chunks do not touch each other. So the n-th event of every chunk is done at once, with sets of
    contributions as bits, in blocks of chunks that fit into memory.
    """
    chunks = problem.collective.chunks
    bytes_per_chunk = problem.graph.nodes * 8 * -(-problem.graph.npus // 64)
    per_block = max(1, _BLOCK_BYTES // bytes_per_chunk)
    by_chunk = rows[np.argsort(sends.chunk[rows], kind="stable")]
    starts = np.arange(0, chunks, per_block)
    cuts = np.searchsorted(sends.chunk[by_chunk], starts)
    npus, wanted = problem.collective.wants()
    order = np.argsort(wanted, kind="stable")
    npus, wanted = npus[order], wanted[order]
    wants = np.searchsorted(wanted, starts)
    for number, first in enumerate(starts.tolist()):
        mine = _part(by_chunk, cuts, number)
        block = _Block.of(problem, sends, mine, first, min(per_block, chunks - first), passages)
        block.follow(found, slack_ps)
        block.check_end(_part(npus, wants, number), _part(wanted, wants, number), found)


def _part(column: NDArray[Any], cuts: NDArray[np.intp], number: int) -> NDArray[Any]:
    return column[cuts[number] : cuts[number + 1] if number + 1 < len(cuts) else None]


@dataclass(eq=False)
class _Block:
    """Some chunks: which contributions (bits) each node has of each, and which each send carries.

    `has` has shape (nodes, chunks of the block, words of 64 bits), `full` (chunks, words), `carries` (sends
    of the block, words). What is no sum is full from the start, and nothing is added to it.
    `passes` is per send the number of that whose message it carries on, or -1; what `is_kept_apart` is not
    merged with what its receiver has.
    """

    sends: SendTable
    rows: NDArray[np.int64]
    first: int
    has: NDArray[np.uint64]
    carries: NDArray[np.uint64]
    full: NDArray[np.uint64]
    is_sum: NDArray[np.bool_]
    passes: NDArray[np.int64]
    is_kept_apart: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        problem: Problem,
        sends: SendTable,
        rows: NDArray[np.int64],
        first: int,
        chunks: int,
        passages: Passages,
    ) -> _Block:
        words = -(-problem.graph.npus // 64)
        has = np.zeros((problem.graph.nodes, chunks, words), dtype=np.uint64)
        full = np.zeros((chunks, words), dtype=np.uint64)
        npus, own = problem.collective.sources()
        here = (own >= first) & (own < first + chunks)
        numbers, place = npus[here].astype(np.int64), own[here] - first
        bits = np.uint64(1) << (numbers % 64).astype(np.uint64)
        has[numbers, place, numbers // 64] = bits
        np.bitwise_or.at(full, (place, numbers // 64), bits)
        is_sum = problem.collective.is_sum[first : first + chunks]
        carries = np.zeros((len(rows), words), dtype=np.uint64)
        passes, is_kept_apart = passages.among(rows, len(sends))
        return cls(sends, rows, first, has, carries, full, is_sum, passes, is_kept_apart)

    def follow(self, found: Violations, slack_ps: int) -> None:
        """Run all sends in order of time."""
        for kind, slots in self._rounds(slack_ps):
            goes = slots[kind == _GOES]
            comes = slots[kind == _COMES]
            self._go(goes, found)
            self._come(comes, found)

    def _rounds(self, slack_ps: int) -> Iterator[tuple[NDArray[np.int8], NDArray[np.int64]]]:
        """The n-th events of all chunks; at one time of a chunk what comes is there before anything goes.

        A send that takes no time comes after it goes.
        """
        count = len(self.rows)
        starts, ends = self.sends.start_ps[self.rows], self.sends.end_ps[self.rows]
        slots = np.tile(np.arange(count), 2)
        kinds = np.repeat(np.array([_GOES, _COMES], dtype=np.int8), count)
        times = np.concatenate([starts + slack_ps, ends])
        phases = np.concatenate([np.ones(count, dtype=np.int8), np.where(ends > starts + slack_ps, 0, 2)])
        chunks = np.tile(self.sends.chunk[self.rows], 2)
        order = np.lexsort((slots, phases, times, chunks))
        rank = np.arange(2 * count) - np.searchsorted(chunks[order], chunks[order])
        by_rank = order[np.argsort(rank, kind="stable")]
        cuts = np.cumsum(np.bincount(rank))[:-1]
        for events in np.split(by_rank, cuts):
            yield kinds[events], slots[events]

    def _go(self, slots: NDArray[np.int64], found: Violations) -> None:
        rows = self.rows[slots]
        sets = self.has[self.sends.source[rows], self.sends.chunk[rows] - self.first]
        passed = self.passes[slots]
        sets = np.where(passed[:, None] >= 0, self.carries[passed], sets)
        self.carries[slots] = sets
        nothing = rows[~sets.any(axis=1)]
        found.add(3, nothing, lambda i: f"{self.sends.source[nothing[i]]} has nothing of the chunk then")

    def _come(self, slots: NDArray[np.int64], found: Violations) -> None:
        slots = slots[~self.is_kept_apart[slots]]
        rows = self.rows[slots]
        places = self.sends.destination[rows], self.sends.chunk[rows] - self.first
        mine, theirs = self.has[places], self.carries[slots]
        adds, full = self.sends.reduce[rows], self.full[places[1]]
        needless = rows[adds & ~self.is_sum[places[1]]]
        found.add(5, needless, lambda _: "`reduce` of a chunk to which nothing is added")
        twice = adds & (mine & theirs).any(axis=1)
        partial = ~adds & (theirs != full).any(axis=1) & theirs.any(axis=1)
        both, lacks = (mine & theirs)[twice], (full & ~theirs)[partial]
        found.add(5, rows[twice], lambda i: f"the contribution of NPU {_first(both[i])} is added twice")
        found.add(
            5,
            rows[partial],
            lambda i: f"it copies a sum without the contribution of NPU {_first(lacks[i])}",
        )
        mine[~adds] = theirs[~adds]
        mine[adds & ~twice] |= theirs[adds & ~twice]
        self.has[places] = mine

    def check_end(self, npus: NDArray[np.int64], wanted: NDArray[np.int64], found: Violations) -> None:
        """Rule 4: whole sums where they are wanted."""
        sets = self.has[npus, wanted - self.first]
        full = self.full[wanted - self.first]
        lacking = np.flatnonzero((sets != full).any(axis=1))
        found.add_missing(
            4,
            len(lacking),
            lambda i: (
                f"NPU {npus[lacking[i]]} ends with chunk {wanted[lacking[i]]} without the contribution of "
                f"NPU {_first(full[lacking[i]] & ~sets[lacking[i]])}"
            ),
        )


def _first(words: NDArray[np.uint64]) -> int:
    """The number of the first bit that is set."""
    word = next(i for i, bits in enumerate(words.tolist()) if bits)
    bits = int(words[word])
    return 64 * word + (bits & -bits).bit_length() - 1
