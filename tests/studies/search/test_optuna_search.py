"""Searches with Optuna: huge spaces, excluded choices, budgets, and how good they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.answers.regret import regret
from dse.base.errors import InputError
from dse.studies.executors import LocalExecutor
from dse.studies.search import RandomSample, Search
from dse.studies.search.goals import NOT_OK, Goals
from dse.studies.search.optuna_search import OptunaSearch
from dse.studies.store import StudyStore, as_table
from dse.studies.sweeps.driver import SweepResult, run_sweep
from dse.testing.spaces import Rows, drive, points, space, view

ROWS = Rows()
FASTEST = Goals(["wall_time_ns"])


def test_tpe_finds_a_point_within_5_percent_in_60_evaluations() -> None:
    truth = [ROWS.row(point) for point in points(space())]
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
    keys = drive(OptunaSearch(view(of), FASTEST, samples=100, seed=0, sampler=kind), ROWS)
    assert len(set(keys)) == 100


def test_a_large_space_with_few_points_is_exhausted_and_that_is_said() -> None:
    splits = {"system.preferred_dataset_splits": tuple(range(1, 301))}
    of = space("system.preferred_dataset_splits == 3", "pp == 1", "not weight_sharded", axes=splits)
    search = OptunaSearch(view(of), FASTEST, samples=40, seed=0)
    assert len(set(drive(search, ROWS))) == 30
    assert search.notes() == ["stopped after 30 of 40 points: the space has no more points"]


@pytest.mark.parametrize("sampler", ["random", "tpe", "nsga2"])
def test_only_feasible_points_are_proposed_and_the_others_counted(sampler: str) -> None:
    for seed in range(3):
        search = search_of(sampler, seed)
        found = [ROWS[key] for key in drive(search, ROWS)]
        assert [row.status for row in found] == ["ok"] * 20
        name = "random" if sampler == "random" else "optuna"
        assert search.notes() == [f"search={name}: 20 of 140 points; 16 others are infeasible"]


def search_of(sampler: str, seed: int) -> Search:
    if sampler == "random":
        return RandomSample(lambda: points(space()), 20, seed)
    kind = "tpe" if sampler == "tpe" else "nsga2"
    return OptunaSearch(view(space()), FASTEST, samples=20, seed=seed, sampler=kind)


def test_twenty_of_140_points_end_within_half_of_the_best() -> None:
    best = min(ROWS.row(point).wall_time_ns or 2**63 for point in points(space()))
    for sampler in ("tpe", "nsga2"):
        for seed in range(10):
            found = [ROWS[key] for key in drive(search_of(sampler, seed), ROWS)]
            assert min(row.wall_time_ns or 2**63 for row in found) <= 1.5 * best, (sampler, seed)


def test_an_axis_with_an_impossible_value_is_refused_at_the_start() -> None:
    many = tuple(range(1, 201))
    for bad, axes in (
        (0, {"system.network.0.bandwidth_gbps": (100.0, 0.0)}),
        (0, {"system.network.0.bandwidth_gbps": (*many, 0.0), "system.network.1.bandwidth_gbps": many}),
    ):
        search = OptunaSearch(view(space(axes=axes)), FASTEST, samples=20, seed=0)
        with pytest.raises(InputError, match=rf"system.network.0.bandwidth_gbps is {bad}"):
            next(iter(search.batches()))


def test_combinations_that_are_impossible_together_are_left_out_and_counted() -> None:
    axes = {
        "model.batch_size": tuple(range(1, 101)),
        "model.micro_batches": (1, 2, 3, 4),
        "model.repairs.contiguous_stages": (True,),
    }
    search = OptunaSearch(view(space(axes=axes)), FASTEST, samples=30, seed=0)
    assert len(drive(search, ROWS)) == 30
    (note,) = search.notes()
    assert "combinations of axes were left out as impossible, such as: model.micro_batches is " in note


def test_a_space_without_a_feasible_point_says_so() -> None:
    for search in (
        OptunaSearch(view(space("pp == 16")), FASTEST, samples=4, seed=0),
        RandomSample(lambda: points(space("pp == 16")), 4, 0),
    ):
        with pytest.raises(InputError, match="none of the 4 points is feasible; search=exhaustive says why"):
            next(iter(search.batches()))


def test_the_best_of_a_search_keeps_the_budgets() -> None:
    peaks = sorted(row.peak_memory_bytes or 0 for row in map(ROWS.row, points(space())) if row.status == "ok")
    goals = Goals(["wall_time_ns"], ["peak_memory_bytes <= memory_cap_bytes"], peaks[len(peaks) // 10])
    search = OptunaSearch(view(space()), goals, samples=60, seed=0, sampler="tpe")
    held = sum(not any(goals.violations(ROWS[key])) for key in drive(search, ROWS))
    assert held >= 8  # of 13; a random sample would have 6


def test_violations_are_relative() -> None:
    row = next(row for row in map(ROWS.row, points(space())) if row.status == "ok")
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
    row = ROWS.row(next(points(space("dp == 16"))))
    untracked = row.__class__(**{**row.__dict__, "peak_memory_bytes": None})
    assert Goals(["npus"], ["peak_memory_bytes <= 1"]).violations(untracked) == [1.0]
    assert Goals(["peak_memory_bytes"]).values(untracked) is None
