"""Process groups of gloo's works: found whichever numbers its threads have, and whichever of them worked."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from dse.simulation.recorded.pytorch.execution_trace import Group
from dse.simulation.recorded.pytorch.gloo_groups import name_by_threads
from dse.simulation.recorded.pytorch.ranks import RecordedRank
from dse.simulation.recorded.pytorch.works import Work

GROUPS = {
    name: Group(name, ranks)
    for name, ranks in {
        "world": (0, 1, 2, 3),
        "row 0": (0, 1),
        "row 1": (2, 3),
        "column 0": (0, 2),
        "column 1": (1, 3),
    }.items()
}
STEPS = 3
ROW_DELAY_NS = 10_000_000
ROW_BYTES, COLUMN_BYTES = 4096, 16


def recorded(rank: int, numbers: list[int], busy: list[bool], late_ns: int) -> RecordedRank:
    """A rank that sums along its row, where row 1 is later than row 0, then along its column.

    `busy` is the thread of the pair that ran each sum.
    """
    works = []
    for at in range(2 * STEPS):
        is_column = at % 2
        end = (at + 1) * 2 * ROW_DELAY_NS + (0 if is_column else ROW_DELAY_NS * (rank // 2))
        size_bytes = COLUMN_BYTES if is_column else ROW_BYTES
        runs_on = numbers[2 * is_column + busy[at]]
        works.append(
            Work("all_reduce", size_bytes, end - 500_000 + late_ns, end, at, thread=1, runs_on=runs_on)
        )
    own = tuple(group for group in GROUPS.values() if rank in group.ranks)
    return RecordedRank(rank, "host", cast("Any", None), cast("Any", None), works, own, [])


thread_numbers = st.lists(st.integers(10, 40), min_size=4, max_size=4, unique=True).map(sorted)


@given(
    st.lists(thread_numbers, min_size=4, max_size=4),
    st.lists(st.lists(st.booleans(), min_size=2 * STEPS, max_size=2 * STEPS), min_size=4, max_size=4),
    st.lists(st.integers(0, 400_000), min_size=4, max_size=4),
)
def test_rows_and_columns_are_found_whichever_numbers_the_threads_have(
    numbers: list[list[int]], busy: list[list[bool]], late_ns: list[int]
) -> None:
    ranks = [recorded(rank, numbers[rank], busy[rank], late_ns[rank]) for rank in range(4)]
    name_by_threads(ranks, GROUPS)
    for rank in ranks:
        row, column = f"row {rank.rank // 2}", f"column {rank.rank % 2}"
        assert [work.group for work in rank.works] == [row, column] * STEPS


def test_works_of_ranks_that_did_different_things_are_of_the_largest_group() -> None:
    ranks = [recorded(rank, [10, 11, 12, 13], [False] * 6, 0) for rank in range(4)]
    ranks[0].works.pop()
    name_by_threads(ranks, GROUPS)
    assert {work.group for rank in ranks for work in rank.works} == {"world"}
