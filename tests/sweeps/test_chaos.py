"""A killed sweep goes on where it was: the short version of `make chaos`."""

from __future__ import annotations

from pathlib import Path

from chaos import check


def test_a_sweep_killed_three_times_equals_one_that_nobody_disturbed(tmp_path: Path) -> None:
    costs = check(tmp_path, points=400, kills=3, seed=1)
    assert sum(cost.gained for cost in costs) > 0
