"""Cases in processes: the same rows as here, and nothing is left running."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from predicted_points import predicted_point, predicted_scenario

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.executors.processes import Processes
from dse.studies.points import DesignPoint, evaluate
from dse.studies.points.evaluator import PointEvaluator
from dse.studies.store import StudyRow

Predicting = Processes[DesignPoint, StudyRow]


def points() -> list[DesignPoint]:
    plans = [
        Strategy(dp=16 // tp, tp=tp, micro_batch=size, weight_sharded=sharded)
        for tp in (1, 2, 4, 8)
        for size in (1, 2, 64)  # 64 sequences do not go round 2 ranks: rows with a reason
        for sharded in (False, True)
    ]
    return [
        DesignPoint(predicted_scenario(*over), plan)
        for over in ((), ("system.accelerator=h200",))
        for plan in plans
    ]


@pytest.fixture
def predictors() -> Iterator[Predicting]:
    made = Processes(PointEvaluator())
    yield made
    made.stop()


def test_rows_are_those_of_this_process(predictors: Predicting) -> None:
    some = points()
    assert predictors.rows(some[:30]) == [evaluate(point) for point in some[:30]]  # both scenarios
    assert predictors.rows(some[30:]) == [evaluate(point) for point in some[30:]]


def test_errors_of_points_are_raised_here(predictors: Predicting) -> None:
    wrong = predicted_point(Strategy(dp=16), "model.repairs.loss=false")
    with pytest.raises(InputError, match=r"model\.repairs\.loss changes no prediction"):
        predictors.rows([wrong])
    right = predicted_point(Strategy(dp=16))
    assert predictors.rows([right]) == [evaluate(right)]


def test_a_process_that_somebody_ends_is_an_error(predictors: Predicting) -> None:
    (first, second, *_) = points()
    predictors.rows([first])
    predictors._started[0]._process.kill()
    with pytest.raises(InputError, match="a process was killed"):
        predictors.rows([second])


def test_stopping_ends_the_processes(predictors: Predicting) -> None:
    predictors.rows(points()[:1])
    identity = predictors._started[0]._process.pid
    predictors.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(identity, 0)
    assert predictors.rows(points()[:1]) == []
