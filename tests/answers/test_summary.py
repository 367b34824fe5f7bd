"""The summary shows the answer to a reader and, as JSON, to a program."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from study_rows import failed_row, row

from dse.answers import render, render_rows, select, to_json
from dse.studies.store import StudyRow

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

BOTH = """\
                     dp  tp  sp  pp  fsdp     act.  wall time       peak  exposed  compute  MFU  tokens
                                           recomp.                memory   comm %  util. %    %   per s
without a memory cap
  best               32   1   2   1    no       no    3.207 s  143.90 GB      0.0     95.1    -       -
  runner-up +27.5 %   8   1   8   1    no      yes    4.088 s   67.02 GB      4.6     92.2    -       -
under 80 GB: the best fits with 16.2 % to spare
  best                8   1   8   1    no      yes    4.088 s   67.02 GB      4.6     92.2    -       -
  runner-up +10.1 %   8   1   8   1   yes      yes      4.5 s   67.02 GB      4.2     92.2    -       -

6 points: 3 ok, 2 infeasible, 1 deadlock (see system.issue_order in docs/simulator.md)"""

EXACT = """\
                     dp  tp  sp  pp  fsdp     act.   wall time          peak  exposed  compute  MFU  tokens
                                           recomp.          ns         bytes   comm %  util. %    %   per s
without a memory cap
  best               32   1   2   1    no       no  3206889878  143896084480      0.0     95.1    -       -
  runner-up +27.5 %   8   1   8   1    no      yes  4088264658   67022880768      4.6     92.2    -       -

2 points: 2 ok"""


def test_the_table_shows_both_optima_their_runners_up_and_the_counts() -> None:
    rows = [FAST, SMALL, row(weight_sharded=True, wall_time_ns=4_500_000_000), *FAILED]
    assert render(select(rows, memory_cap_bytes=80_000_000_000)) == BOTH


def test_the_exact_table_has_nanoseconds_and_bytes() -> None:
    assert render(select([FAST, SMALL]), exact=True) == EXACT


def test_a_cap_that_changes_nothing_repeats_nothing() -> None:
    lines = render(select([FAST, SMALL], memory_cap_bytes=150_000_000_000)).splitlines()
    assert lines[4].startswith("  runner-up +27.5 %   8   1   8   1    no      yes    4.088 s ")
    assert lines[5:] == [
        "under 150 GB: the cap does not bind, 4.1 % to spare",
        "",
        "2 points: 2 ok",
    ]


def test_a_cap_that_only_the_runner_up_exceeds_says_that_the_best_is_the_same() -> None:
    large = row(dp=16, sp=4, wall_time_ns=4_100_000_000, peak_memory_bytes=90_000_000_000)
    slow = row(weight_sharded=True, wall_time_ns=4_500_000_000, operation_intensity=float("nan"))
    lines = render(select([SMALL, large, slow], memory_cap_bytes=80_000_000_000)).splitlines()
    under = lines.index("under 80 GB: the best is the same, 16.2 % to spare")
    assert lines[under + 1].startswith("  runner-up +10.1 %")
    assert lines[under + 2] == ""


def test_a_missing_number_does_not_make_a_point_another_one() -> None:
    rows = [row(operation_intensity=float("nan"))]
    again = [row(operation_intensity=float("nan"))]
    chosen = select(rows, memory_cap_bytes=80_000_000_000)
    text = render(replace(chosen, capped_optimum=again[0]))
    assert "the cap does not bind" in text


def test_without_a_cap_there_is_no_part_for_it() -> None:
    text = render(select([FAST, SMALL]))
    assert "under" not in text
    assert text.endswith("\n\n2 points: 2 ok")


def test_when_nothing_fits_the_smallest_peak_memory_is_named() -> None:
    text = render(select([FAST, SMALL], memory_cap_bytes=1_000_000_000))
    assert "under 1 GB\n" in text
    assert "  nothing fits: the smallest peak memory is 67.02 GB\n" in text


def test_when_no_point_is_ok_the_table_says_so_and_counts_why() -> None:
    text = render(select(FAILED, memory_cap_bytes=80_000_000_000))
    assert text.count("  no point is ok\n") == 2
    assert text.endswith(
        "\n3 points: 0 ok, 2 infeasible, 1 deadlock (see system.issue_order in docs/simulator.md)"
    )


def test_a_single_point_has_no_runner_up_and_values_that_are_missing_are_dashes() -> None:
    lines = render(
        select([row(peak_memory_bytes=None, exposed_comm_ns=None, compute_utilization_pct=None)])
    ).splitlines()
    assert "runner-up" not in "".join(lines)
    assert lines[3].split()[-5:] == ["s", *["-"] * 4]
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
        "may_fit",
        "surely_fits",
        "tied_plans",
        "most_room",
        "tied_plans_under_cap",
        "most_room_under_cap",
        "memory_cap_bytes",
        "counts",
    ]
    assert answer["may_fit"] is None
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


def test_what_the_named_rows_say_of_their_times_stands_below_the_table_once() -> None:
    groups = ("tp 8", "pp 2")
    understated = row(
        understated_comm="; ".join(f"{group} is charged for dimension 0, not for 1" for group in groups),
        impossible_split="dp 4 does not divide batch_size 7 (nearest multiples of 4: 4, 8)",
    )
    warnings = [
        f"warning: no program can split this: {understated.impossible_split}",
        *(
            f"warning: {group} crosses slower links (dimension 1) but is timed on dimension 0, "
            "as in ASTRA-sim"
            for group in groups
        ),
    ]
    text = render(select([understated, FAST], memory_cap_bytes=80_000_000_000))
    assert text.splitlines()[-5:] == [*warnings, "", "2 points: 2 ok"]
    assert max(map(len, text.splitlines())) <= 110
    assert render_rows([("a", understated), ("b", understated)]).splitlines()[-3:] == warnings
    assert "warning" not in render(select([FAST, SMALL]))


def test_mfu_and_tokens_are_columns_and_one_that_is_missing_is_a_dash() -> None:
    worth = row(mfu_pct=41.24, tokens_per_s=329_612.4, tokens_per_s_per_npu=5_150.19)
    lines = render_rows([("  a", worth), ("  b", row())]).splitlines()
    assert [line.split()[-2:] for line in lines] == [
        ["MFU", "tokens"],
        ["per", "s"],
        ["41.2", "329.6k"],
        ["-", "-"],
    ]
