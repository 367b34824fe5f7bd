"""What every search must do: the same proposals for the same rows, none twice, an end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from spaces import Rows, drive, points, space, view

from dse.errors import InputError
from dse.search import Exhaustive, Pruned, RandomSample, Search
from dse.search.goals import Goals
from dse.search.optuna_search import OptunaSearch
from dse.space import DesignSpace

ROWS = Rows()  # points are evaluated once for all tests
SPACE = space()
CAP = 10**9
Make = Callable[[DesignSpace, int, int], Search]  # of a space, a number of samples and a seed


def _optuna(sampler: str, *objectives: str) -> Make:
    goals = Goals(objectives or ["wall_time_ns"], ["peak_memory_bytes <= memory_cap_bytes"], CAP)
    kind = "tpe" if sampler == "tpe" else "nsga2"
    return lambda of, samples, seed: OptunaSearch(view(of), goals, samples=samples, seed=seed, sampler=kind)


SEARCHES: dict[str, Make] = {
    "exhaustive": lambda of, _samples, _seed: Exhaustive(lambda: points(of)),
    "pruned": lambda of, _samples, _seed: Pruned(lambda: points(of), CAP),
    "random": lambda of, samples, seed: RandomSample(lambda: points(of), samples, seed),
    "tpe": _optuna("tpe"),
    "nsga2": _optuna("nsga2"),
    "nsga2, two objectives": _optuna("nsga2", "wall_time_ns", "peak_memory_bytes"),
    "tpe, two objectives": _optuna("tpe", "wall_time_ns", "wall_time_ns * npus"),
}
SAMPLED = [name for name in SEARCHES if name not in ("exhaustive", "pruned")]
LEARNING = [name for name in SAMPLED if name != "random"]


@pytest.fixture(params=SEARCHES)
def make(request: pytest.FixtureRequest) -> Make:
    return SEARCHES[request.param]


def test_the_same_seed_proposes_the_same_points_none_twice(make: Make) -> None:
    keys = drive(make(SPACE, 40, 3), ROWS)
    assert keys == drive(make(SPACE, 40, 3), ROWS)
    assert len(set(keys)) == len(keys)
    assert keys


def test_an_empty_space_is_refused(make: Make) -> None:
    with pytest.raises(InputError, match="constraints"):
        drive(make(space("dp > 16"), 10, 0), ROWS)


def test_one_search_starts_again_with_each_loop(make: Make) -> None:
    search = make(SPACE, 20, 0)
    assert drive(search, ROWS) == drive(search, ROWS) or isinstance(search, Pruned)


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_are_distinct_points_and_seeds_differ(name: str) -> None:
    keys = [drive(SEARCHES[name](SPACE, 30, seed), ROWS) for seed in (0, 1)]
    assert [len(set(each)) for each in keys] == [30, 30]
    assert keys[0] != keys[1]


@pytest.mark.parametrize("name", SAMPLED)
def test_more_samples_than_points_take_all_of_them_and_stop(name: str) -> None:
    small = space("pp == 1", "not weight_sharded")
    search = SEARCHES[name](small, 1000, 0)
    assert sorted(drive(search, ROWS)) == sorted(point.key for point in points(small))
    if name in LEARNING:
        assert "of 1000 points: the space has no more points" in search.notes()[0]


@pytest.mark.parametrize("name", LEARNING)
def test_the_order_of_completion_changes_nothing(name: str) -> None:
    make = SEARCHES[name]
    assert drive(make(SPACE, 60, 0), ROWS, backwards=True) == drive(make(SPACE, 60, 0), ROWS)


@pytest.mark.parametrize("name", LEARNING)
def test_a_search_that_is_told_stored_rows_goes_on_where_it_stopped(name: str) -> None:
    make = SEARCHES[name]
    stored = drive(make(SPACE, 48, 5), ROWS, limit=24)
    assert drive(make(SPACE, 48, 5), ROWS)[: len(stored)] == stored


def test_a_fresh_process_proposes_the_same_points() -> None:
    code = (
        "from test_search_contract import *\n"
        "for name in ('tpe', 'nsga2'): print(drive(SEARCHES[name](SPACE, 30, 1), ROWS))"
    )
    folder = Path(__file__).parent
    line = [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(folder), str(folder.parent)]}\n{code}"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    expected = [str(drive(SEARCHES[name](SPACE, 30, 1), ROWS)) for name in ("tpe", "nsga2")]
    assert done.stdout.splitlines() == expected
    assert done.stderr == ""


def test_a_random_sample_is_the_same_on_every_machine() -> None:
    found = [index for index, point in enumerate(points(SPACE)) if point.key in _random(5, 0)]
    assert found == [10, 66, 98, 107, 130]


def _random(samples: int, seed: int) -> list[str]:
    return drive(SEARCHES["random"](SPACE, samples, seed), ROWS)
