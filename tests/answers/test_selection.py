"""The selection is the minimum that a reader would find by hand, whatever the order of the rows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_rows import failed_row, rankable_rows, row

from dse.answers import best, counts_by_status, ranking, runner_up, select
from dse.base.errors import InputError
from dse.studies.store import StudyRow, as_table

FAST = row(
    dp=32, sp=2, activation_recompute=False, wall_time_ns=3_206_889_878, peak_memory_bytes=143_896_084_480
)
SMALL = row(dp=8, sp=8, wall_time_ns=4_088_264_658, peak_memory_bytes=67_022_880_768)
SMALLER = row(dp=4, sp=16, wall_time_ns=5_000_000_000, peak_memory_bytes=60_000_000_000)
BROKEN = failed_row("deadlock", "rank 0 waits for rank 1")
STUDY = [SMALLER, BROKEN, FAST, SMALL, failed_row("infeasible", "80 layers do not divide by 64 stages")]

studies = st.lists(rankable_rows(), max_size=12)


def order(point: StudyRow) -> tuple[Any, ...]:
    memory = float("inf") if point.peak_memory_bytes is None else point.peak_memory_bytes
    degrees = (point.dp, point.tp, point.sp, point.pp)
    return (point.wall_time_ns, memory, *degrees, point.weight_sharded, point.activation_recompute)


def test_select_names_both_optima_their_runners_up_and_the_counts() -> None:
    selection = select(STUDY, memory_cap_bytes=80_000_000_000)
    assert selection.optimum == FAST
    assert selection.runner_up == SMALL
    assert selection.capped_optimum == SMALL
    assert selection.capped_runner_up == SMALLER
    assert selection.memory_cap_bytes == 80_000_000_000
    assert selection.smallest_peak_memory_bytes == 60_000_000_000
    assert selection.counts == {"ok": 3, "infeasible": 1, "deadlock": 1, "failed": 0, "timeout": 0}


def test_the_single_questions_agree_with_select() -> None:
    assert best(STUDY) == FAST
    assert runner_up(STUDY) == SMALL
    assert best(STUDY, memory_cap_bytes=80_000_000_000) == SMALL
    assert select(STUDY, memory_cap_bytes=np.int64(80_000_000_000)).capped_optimum == SMALL
    assert runner_up(STUDY, memory_cap_bytes=80_000_000_000) == SMALLER
    assert ranking(STUDY) == [FAST, SMALL, SMALLER]
    assert ranking(STUDY, limit=2) == [FAST, SMALL]


def test_a_peak_of_exactly_the_cap_fits_and_one_byte_more_does_not() -> None:
    assert best([SMALL], memory_cap_bytes=67_022_880_768) == SMALL
    assert best([SMALL], memory_cap_bytes=67_022_880_767) is None


def test_a_point_that_is_not_ok_never_wins() -> None:
    assert best([row(status="failed", wall_time_ns=1), SMALL]) == SMALL


@pytest.mark.parametrize("rows", [[], [BROKEN]])
def test_without_a_point_that_is_ok_there_is_no_best(rows: list[StudyRow]) -> None:
    selection = select(rows, memory_cap_bytes=1)
    assert selection.optimum is selection.runner_up is selection.capped_optimum is None
    assert selection.smallest_peak_memory_bytes is None


TIES = [
    row(wall_time_ns=1, peak_memory_bytes=1, dp=64, tp=64),
    row(
        wall_time_ns=1,
        peak_memory_bytes=2,
        dp=1,
        tp=1,
        sp=1,
        weight_sharded=False,
        activation_recompute=False,
    ),
    row(
        wall_time_ns=1, peak_memory_bytes=2, dp=1, tp=1, sp=1, weight_sharded=False, activation_recompute=True
    ),
    row(
        wall_time_ns=1, peak_memory_bytes=2, dp=1, tp=1, sp=1, weight_sharded=True, activation_recompute=False
    ),
    row(wall_time_ns=1, peak_memory_bytes=2, dp=1, tp=1, sp=1, pp=2, weight_sharded=False),
    row(wall_time_ns=1, peak_memory_bytes=2, dp=1, tp=1, sp=2, pp=1),
    row(wall_time_ns=1, peak_memory_bytes=2, dp=1, tp=2, sp=1, pp=1),
    row(wall_time_ns=1, peak_memory_bytes=2, dp=2, tp=1, sp=1, pp=1),
    row(wall_time_ns=1, peak_memory_bytes=None, dp=1, tp=1, sp=1, pp=1),
    row(wall_time_ns=2, peak_memory_bytes=1, dp=1, tp=1, sp=1, pp=1),
]


def test_ties_go_to_less_memory_then_to_smaller_degrees_then_to_fewer_options() -> None:
    shuffled = random.Random(0).sample(TIES, len(TIES))
    assert ranking(shuffled) == TIES


def test_a_cap_without_any_peak_memory_says_what_to_turn_on() -> None:
    with pytest.raises(InputError, match="track_local_memory"):
        select([row(peak_memory_bytes=None)], memory_cap_bytes=80_000_000_000)


@pytest.mark.parametrize("cap", [2**63, -(2**63), 10**400], ids=["2^63", "-2^63", "10^400"])
def test_a_cap_that_no_machine_counts_is_refused(cap: int) -> None:
    with pytest.raises(InputError, match=r"^select: memory_cap_bytes must be a number of bytes below 2\^63"):
        select(STUDY, memory_cap_bytes=cap)
    assert select(STUDY, memory_cap_bytes=2**63 - 1).capped_optimum == select(STUDY).optimum


def test_a_point_without_peak_memory_is_not_under_the_cap() -> None:
    assert (
        best([row(peak_memory_bytes=None, wall_time_ns=1), SMALL], memory_cap_bytes=80_000_000_000) == SMALL
    )


@given(studies)
def test_best_is_the_minimum_found_by_brute_force(rows: list[StudyRow]) -> None:
    assert best(rows) == min((point for point in rows if point.status == "ok"), key=order, default=None)


@given(studies, st.integers(0, 5))
def test_ranking_is_the_sorted_list_of_what_fits(rows: list[StudyRow], cap: int) -> None:
    fitting = [point for point in rows if point.status == "ok" and (point.peak_memory_bytes or 0) <= cap]
    assert ranking(rows, memory_cap_bytes=cap) == sorted(fitting, key=order)


@given(studies, st.integers(0, 5))
def test_a_cap_never_makes_the_best_faster(rows: list[StudyRow], cap: int) -> None:
    capped, free = best(rows, memory_cap_bytes=cap), best(rows)
    assert capped is None or (free is not None and order(free) <= order(capped))


@given(studies)
def test_a_cap_above_every_peak_changes_nothing(rows: list[StudyRow]) -> None:
    assert ranking(rows, memory_cap_bytes=5) == ranking(rows)


@given(studies, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: list[StudyRow], shuffler: random.Random) -> None:
    assert select(shuffler.sample(rows, len(rows)), memory_cap_bytes=2) == select(rows, memory_cap_bytes=2)


@given(studies)
def test_counts_add_up_and_a_table_counts_like_its_rows(rows: list[StudyRow]) -> None:
    counts = counts_by_status(rows)
    assert sum(counts.values()) == len(rows)
    assert counts_by_status(as_table(rows)) == counts
