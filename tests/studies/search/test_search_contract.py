"""Our searches do what every search must; another implementation is one more line in SEARCHES."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dse.studies.search import Exhaustive, Pruned, RandomSample
from dse.studies.search.goals import Goals
from dse.studies.search.optuna_search import OptunaSearch
from dse.testing.searches import (
    ROWS,
    SPACE,
    LearnsFromRows,
    Make,
    SamplesPoints,
    SearchContract,
    StartsAgain,
)
from dse.testing.spaces import drive, points, space, view

CAP = 10**9


def _optuna(sampler: str, *objectives: str) -> Make:
    goals = Goals(objectives or ["wall_time_ns"], ["peak_memory_bytes <= memory_cap_bytes"], CAP)
    kind = "tpe" if sampler == "tpe" else "nsga2"
    return lambda whole, samples, seed: OptunaSearch(
        view(whole), goals, samples=samples, seed=seed, sampler=kind
    )


SEARCHES: dict[str, Make] = {
    "exhaustive": lambda whole, _samples, _seed: Exhaustive(lambda: points(whole)),
    "pruned": lambda whole, _samples, _seed: Pruned(lambda: points(whole), CAP),
    "random": lambda whole, samples, seed: RandomSample(lambda: points(whole), samples, seed),
    "tpe": _optuna("tpe"),
    "nsga2": _optuna("nsga2"),
    "nsga2, two objectives": _optuna("nsga2", "wall_time_ns", "peak_memory_bytes"),
    "tpe, two objectives": _optuna("tpe", "wall_time_ns", "wall_time_ns * npus"),
}
FORGETFUL = [name for name in SEARCHES if name != "pruned"]
SAMPLED = [name for name in FORGETFUL if name != "exhaustive"]
LEARNING = [name for name in SAMPLED if name != "random"]


class TestSearches(SearchContract):
    @pytest.fixture(params=SEARCHES)
    def search_of(self, request: pytest.FixtureRequest) -> Make:
        return SEARCHES[request.param]


class TestForgetfulSearches(StartsAgain):
    @pytest.fixture(params=FORGETFUL)
    def search_of(self, request: pytest.FixtureRequest) -> Make:
        return SEARCHES[request.param]


class TestSampledSearches(SamplesPoints):
    @pytest.fixture(params=SAMPLED)
    def search_of(self, request: pytest.FixtureRequest) -> Make:
        return SEARCHES[request.param]


class TestLearningSearches(LearnsFromRows):
    @pytest.fixture(params=LEARNING)
    def search_of(self, request: pytest.FixtureRequest) -> Make:
        return SEARCHES[request.param]


@pytest.mark.parametrize("name", SAMPLED)
def test_a_search_that_took_all_points_says_so(name: str) -> None:
    search = SEARCHES[name](space("pp == 1", "not weight_sharded"), 1000, 0)
    drive(search, ROWS)
    assert search.notes()[0].endswith(": all 30 points")


def test_a_fresh_process_proposes_the_same_points() -> None:
    code = (
        "from test_search_contract import *\n"
        "for name in ('tpe', 'nsga2'): print(drive(SEARCHES[name](SPACE, 30, 1), ROWS))"
    )
    line = [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(Path(__file__).parent)]}\n{code}"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    expected = [str(drive(SEARCHES[name](SPACE, 30, 1), ROWS)) for name in ("tpe", "nsga2")]
    assert done.stdout.splitlines() == expected
    assert done.stderr == ""


def test_a_random_sample_is_the_same_on_every_machine() -> None:
    found = [index for index, point in enumerate(points(SPACE)) if point.key in _random(5, 0)]
    assert found == [65, 69, 113, 124, 129]


def _random(samples: int, seed: int) -> list[str]:
    return drive(SEARCHES["random"](SPACE, samples, seed), ROWS)
