"""A killed sweep goes on where it was, and a signal is one line: the short version of `make chaos`."""

from __future__ import annotations

from pathlib import Path

from chaos import check, check_signals


def test_a_sweep_killed_three_times_equals_one_that_nobody_disturbed(tmp_path: Path) -> None:
    costs = check(tmp_path, points=400, kills=3, seed=1)
    assert sum(cost.gained for cost in costs) > 0


def test_signals_at_random_moments_are_one_line_and_lose_no_row(tmp_path: Path) -> None:
    assert check_signals(tmp_path, points=100, signals=6, seed=2) == 6
