"""Messages through switches that cannot copy or add: each leaves as it came, and in the order they came.

Of a chunk the k-th message that leaves such a switch is the k-th that came. Sums on their way (`reduce`) and
full sums or plain chunks are counted apart: the first need a switch that adds, the others one that copies.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.lazy import NDArray, np
from dse.collectives.check.verdict import Violations
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.recorded_sends import SendTable, positions

RULE = 6


@dataclass(frozen=True, eq=False)
class Passages:
    """`leaves` are the rows of sends out of such switches, `came` the row of the message that each carries.

    `ends` marks the rows that end at such a switch: what they bring is not merged with what is there.
    """

    leaves: NDArray[np.int64]
    came: NDArray[np.int64]
    ends: NDArray[np.int64]

    def among(self, rows: NDArray[np.int64], sends: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return per row, of so many sends, the place in `rows` of whose message it carries, and its mark.

        The place is -1 where a row carries what its sender has.
        """
        passes = np.full(len(rows), -1, dtype=np.int64)
        if not len(self.ends):
            return passes, np.zeros(len(rows), dtype=np.bool_)
        place_of = np.full(sends, -1, dtype=np.int64)
        place_of[rows] = np.arange(len(rows))
        here = place_of[self.leaves] >= 0
        passes[place_of[self.leaves[here]]] = place_of[self.came[here]]
        return passes, np.isin(rows, self.ends)


def passages_of(
    problem: Problem, sends: SendTable, rows: NDArray[np.int64], found: Violations, slack_ps: int
) -> Passages:
    """Return who carries whose message, for the sends of `rows`; note messages that leave and never came."""
    graph = problem.graph
    parts = []
    for able, reduce, name in ((graph.copies, False, "copy"), (graph.adds, True, "add")):
        kind = rows[sends.reduce[rows] == reduce]
        out = kind[~able[sends.source[kind]]]
        into = kind[~able[sends.destination[kind]]]
        own = (
            np.empty(0, dtype=np.int64)
            if reduce or not problem.collective.is_reducing
            else _sums_made(problem, sends, rows)
        )
        parts.append(_paired(problem, sends, out, into, name, own, found, slack_ps))
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Passages(*columns)


def _paired(
    problem: Problem,
    sends: SendTable,
    out: NDArray[np.int64],
    into: NDArray[np.int64],
    lacks: str,
    made: NDArray[np.int64],
    found: Violations,
    slack_ps: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    chunks = problem.collective.chunks
    leaves_at = sends.source[out] * chunks + sends.chunk[out]
    comes_at = sends.destination[into] * chunks + sends.chunk[into]
    out, leaves_at = _in_order(out, leaves_at, sends.start_ps[out])
    into, comes_at = _in_order(into, comes_at, sends.end_ps[into])
    first, last = (np.searchsorted(comes_at, leaves_at, side=side) for side in ("left", "right"))
    at = first + np.arange(len(out)) - np.searchsorted(leaves_at, leaves_at)
    is_there = at < last
    is_there[is_there] = sends.end_ps[into[at[is_there]]] <= sends.start_ps[out[is_there]] + slack_ps
    own = _own_sums(out, leaves_at, is_there, made)
    at -= _since(own, leaves_at)
    came = (at < last) & ~own
    never = out[~came & ~own]
    found.add(
        RULE,
        never,
        lambda i: (
            f"switch {sends.source[never[i]]} cannot {lacks}, and the chunk leaves it more often than it came"
        ),
    )
    leaves, by = out[came], into[at[came]]
    early = sends.end_ps[by] > sends.start_ps[leaves] + slack_ps
    found.add(
        RULE,
        leaves[early],
        lambda i: (
            f"switch {sends.source[leaves[early][i]]} cannot {lacks}, and the message for it comes at "
            f"{sends.end_ps[by[early][i]]} ps"
        ),
        others=by[early],
    )
    return leaves, by, into


def _in_order(
    rows: NDArray[np.int64], places: NDArray[np.int64], times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.lexsort((rows, times, places))
    return rows[order], places[order]


def _sums_made(problem: Problem, sends: SendTable, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places (node, chunk) at which sums are made, of nodes that add, in order."""
    sums = rows[sends.reduce[rows] & problem.graph.adds[sends.destination[rows]]]
    return np.unique(sends.destination[sums] * problem.collective.chunks + sends.chunk[sums])


def _own_sums(
    out: NDArray[np.int64],
    leaves_at: NDArray[np.int64],
    is_there: NDArray[np.bool_],
    made: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Mark the sends of full sums that their switch has made: of each the first for which nothing waits."""
    own = np.zeros(len(out), dtype=np.bool_)
    candidates = np.flatnonzero(~is_there & positions(made, leaves_at)[1])
    _, first = np.unique(leaves_at[candidates], return_index=True)
    own[candidates[first]] = True
    return own


def _since(own: NDArray[np.bool_], places: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the sends before each one, of its place, are marked."""
    before: NDArray[np.int64] = np.cumsum(own) - own
    return before - before[np.searchsorted(places, places)]
