"""Searches with Optuna: huge spaces, excluded choices, budgets, and how good they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from spaces import Rows, drive, points, space, view

from dse.errors import InputError
from dse.executors import LocalExecutor
from dse.results import StudyStore, as_table
from dse.search.goals import NOT_OK, Goals
from dse.search.optuna_search import OptunaSearch
from dse.search.regret import regret
from dse.sweeps.driver import SweepResult, run_sweep

ROWS = Rows()
FASTEST = Goals(["wall_time_ns"])


def test_tpe_finds_a_point_within_5_percent_in_60_evaluations() -> None:
    truth = [ROWS.of(point) for point in points(space())]
    found = [
        ROWS[key]
        for key in drive(OptunaSearch(view(space()), FASTEST, samples=60, seed=0, sampler="tpe"), ROWS)
    ]
    answer = regret(as_table(found), as_table(truth))
    assert (answer.evaluations, answer.points) == (60, 140)
    assert answer.relative is not None
    assert answer.relative <= 0.05


def test_a_sweep_that_was_interrupted_computes_only_what_is_missing(tmp_path: Path) -> None:
    def sweep(samples: int, folder: str) -> SweepResult:
        store = StudyStore.create(tmp_path / folder)
        search = OptunaSearch(view(space()), FASTEST, samples=samples, seed=2, batch=8)
        search._startup = 8  # the same beginning for both numbers of samples
        return run_sweep(search, LocalExecutor(2), store, known=store.keys())

    first = sweep(24, "study")
    resumed = sweep(48, "study")
    assert resumed.keys == sweep(48, "fresh").keys
    assert resumed.keys[:24] == first.keys
    assert resumed.computed == 24


def test_a_space_of_10_to_the_12_combinations_is_never_enumerated() -> None:
    tenths = tuple(range(1, 1001))
    huge = space(
        "dp >= 4",
        axes={
            "system.network.0.bandwidth_gbps": tenths,
            "system.network.1.bandwidth_gbps": tenths,
            "system.memory_bandwidth_gbps": tenths,
            "system.peak_tflops": tenths,
        },
    )
    assert view(huge).choices == 10**12
    keys = drive(OptunaSearch(view(huge), FASTEST, samples=60, seed=0), ROWS)
    assert len(set(keys)) == 60
    walls = [ROWS[key].wall_time_ns or 0 for key in keys]
    assert min(walls[10:]) < min(walls[:10])


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
def test_choices_that_the_constraints_exclude_are_left_out(sampler: str) -> None:
    of = space(
        "system.preferred_dataset_splits == 3", axes={"system.preferred_dataset_splits": (1, 2, 3, 4, 5)}
    )
    kind = "tpe" if sampler == "tpe" else "nsga2"
    keys = drive(OptunaSearch(view(of), FASTEST, samples=200, seed=0, sampler=kind), ROWS)
    assert len(set(keys)) == 140


def test_the_best_of_a_search_keeps_the_budgets() -> None:
    peaks = sorted(row.peak_memory_bytes or 0 for row in map(ROWS.of, points(space())) if row.status == "ok")
    goals = Goals(["wall_time_ns"], ["peak_memory_bytes <= memory_cap_bytes"], peaks[len(peaks) // 10])
    found = [ROWS[key] for key in drive(OptunaSearch(view(space()), goals, samples=60, seed=0), ROWS)]
    held = sum(not any(goals.violations(row)) for row in found)
    assert held >= 8  # of 14; a random sample would have 6


def test_violations_are_relative() -> None:
    row = next(row for row in map(ROWS.of, points(space())) if row.status == "ok")
    wall = row.wall_time_ns or 0
    texts = [
        f"wall_time_ns <= {wall}",
        f"wall_time_ns * 3 <= {wall}",
        f"{wall} > 2 * wall_time_ns and npus <= 16",
        "wall_time_ns < 0 or npus < 16",
        f"1 <= npus <= 8 and wall_time_ns < {wall}",
        f"wall_time_ns < {wall}",
    ]
    assert Goals(["npus"], texts).violations(row) == [0.0, 2.0, 0.5, 1.0, 1.0, 1e-9]
    assert NOT_OK > 2


@pytest.mark.parametrize(
    ("objectives", "budgets", "message"),
    [
        (["wall_time"], [], "search.objectives.0 .*unknown name 'wall_time'"),
        (["npus"], ["model == 1"], "search.budgets.0 .*unknown name 'model'"),
        (["npus"], ["npus <= memory_cap_bytes"], "memory_cap_bytes"),
        ([], [], "search.objectives is empty"),
    ],
)
def test_bad_goals_are_refused_by_name(objectives: list[str], budgets: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Goals(objectives, budgets)


def test_a_budget_over_an_untracked_peak_is_missed() -> None:
    row = ROWS.of(next(points(space("dp == 16"))))
    untracked = row.__class__(**{**row.__dict__, "peak_memory_bytes": None})
    assert Goals(["npus"], ["peak_memory_bytes <= 1"]).violations(untracked) == [1.0]
    assert Goals(["peak_memory_bytes"]).values(untracked) is None
