"""The summary shows the answer to a reader and, as JSON, to a program."""

from __future__ import annotations

import json
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st
from study_rows import failed_row, row

from dse.results import StudyRow, render, select, to_json

FAST = row(
    dp=32,
    sp=2,
    activation_recompute=False,
    wall_time_ns=3_206_889_878,
    exposed_comm_ns=0,
    compute_utilization_pct=95.1239,
    peak_memory_bytes=143_896_084_480,
)
SMALL = row()
FAILED = [
    failed_row("deadlock", "rank 0 waits for rank 1"),
    failed_row("infeasible", "no"),
    failed_row("infeasible", ""),
]


def test_the_table_shows_both_optima_their_runners_up_and_the_counts() -> None:
    rows = [FAST, SMALL, row(weight_sharded=True, wall_time_ns=4_500_000_000), *FAILED]
    assert render(select(rows, memory_cap_bytes=80_000_000_000)) == dedent(
        """\
                             dp  tp  sp  pp  fsdp     act.  wall time   wall time       peak  exposed  compute
                                                   recomp.                     ns     memory   comm %  util. %
        without a memory cap
          best               32   1   2   1    no       no    3.207 s  3206889878  143.90 GB      0.0     95.1
          runner-up +27.5 %   8   1   8   1    no      yes    4.088 s  4088264658   67.02 GB      4.6     92.2
        under 80.00 GB (80000000000 bytes)
          best                8   1   8   1    no      yes    4.088 s  4088264658   67.02 GB      4.6     92.2
          runner-up +10.1 %   8   1   8   1   yes      yes      4.5 s  4500000000   67.02 GB      4.2     92.2

        6 points: 3 ok, 2 infeasible, 1 deadlock"""
    )


def test_without_a_cap_there_is_no_part_for_it() -> None:
    text = render(select([FAST, SMALL]))
    assert "under" not in text
    assert text.endswith("\n\n2 points: 2 ok")


def test_when_nothing_fits_the_smallest_peak_memory_is_named() -> None:
    text = render(select([FAST, SMALL], memory_cap_bytes=1_000_000_000))
    assert "under 1.00 GB (1000000000 bytes)\n" in text
    assert "  nothing fits: the smallest peak memory is 67.02 GB (67022880768 bytes)\n" in text


def test_when_no_point_is_ok_the_table_says_so_and_counts_why() -> None:
    text = render(select(FAILED, memory_cap_bytes=80_000_000_000))
    assert text.count("  no point is ok\n") == 2
    assert text.endswith("\n3 points: 0 ok, 2 infeasible, 1 deadlock")


def test_a_single_point_has_no_runner_up_and_values_that_are_missing_are_dashes() -> None:
    lines = render(
        select([row(peak_memory_bytes=None, exposed_comm_ns=None, compute_utilization_pct=None)])
    ).splitlines()
    assert "runner-up" not in "".join(lines)
    assert lines[3].split()[-3:] == ["-", "-", "-"]
    assert lines[-1] == "1 point: 1 ok"


def big_rows() -> st.SearchStrategy[StudyRow]:
    return st.builds(
        row,
        dp=st.integers(1, 9999),
        tp=st.integers(1, 9999),
        sp=st.integers(1, 99),
        pp=st.integers(1, 99),
        wall_time_ns=st.integers(10**12, 10**13 - 1),
        peak_memory_bytes=st.integers(1, 999 * 10**12),
    )


@given(st.lists(big_rows(), max_size=4), st.integers(1, 10**15))
def test_no_line_is_wider_than_110_columns(rows: list[StudyRow], cap: int) -> None:
    assert max(map(len, render(select(rows, memory_cap_bytes=cap)).splitlines())) <= 110


def test_json_has_the_columns_of_each_row_the_cap_and_every_count() -> None:
    answer = json.loads(json.dumps(to_json(select([FAST, SMALL, *FAILED], memory_cap_bytes=80_000_000_000))))
    assert list(answer) == [
        "best",
        "runner_up",
        "best_under_cap",
        "runner_up_under_cap",
        "memory_cap_bytes",
        "counts",
    ]
    assert StudyRow(**answer["best"]) == FAST
    assert StudyRow(**answer["runner_up"]) == SMALL
    assert StudyRow(**answer["best_under_cap"]) == SMALL
    assert answer["runner_up_under_cap"] is None
    assert answer["memory_cap_bytes"] == 80_000_000_000
    assert answer["counts"] == {"ok": 2, "infeasible": 2, "deadlock": 1, "failed": 0, "timeout": 0}


def test_json_without_a_cap_says_null() -> None:
    answer = to_json(select([FAST]))
    assert answer["memory_cap_bytes"] is None
    assert answer["best_under_cap"] is None


def test_json_has_null_for_a_double_that_json_cannot_say() -> None:
    answer = to_json(select([row(operation_intensity=float("inf"), compute_bound_pct=float("nan"))]))
    assert answer["best"]["operation_intensity"] is None
    assert answer["best"]["compute_bound_pct"] is None
    json.dumps(answer, allow_nan=False)
