"""The comparison of test_symmetry can fail: where symmetry is assumed though it does not hold, it says so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from random_points import Comparison, Point, compare, seeded_points

from dse.inputs.strategies import Strategy
from dse.inputs.systems import Derating
from dse.native import _engine
from dse.testing.builders import RING16, TINY, system

UNEQUAL_WIRES = "the ring of group 1 has unequal wires"
BROKEN = {
    "dp 4 on a ring of 16": (Strategy(dp=4, tp=4), RING16, UNEQUAL_WIRES),
    "dp 4 and stages on a ring of 16": (Strategy(dp=4, pp=4), RING16, UNEQUAL_WIRES),
    "a straggler": (
        Strategy(dp=4, tp=4),
        replace(system("Switch 16 @50/500"), deratings=(Derating(5, 0.5, 0.5),)),
        "group 2 has ranks of several classes",
    ),
    "two queues": (
        Strategy(dp=4, tp=4),
        system("Switch 16 @50/500", queues_per_dimension=2, preferred_dataset_splits=3),
        "several queues per dimension",
    ),
}


def _wrong_figures(result: Comparison) -> list[str]:
    return [text for text in result.differences if text.startswith("rank ")]


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_precondition_is_noticed_and_avoided(case: str) -> None:
    strategy, on, obstacle = BROKEN[case]
    point = Point(TINY, strategy, on)
    assert _wrong_figures(compare(point, _engine.Method.ASSUME_SYMMETRY))
    result = compare(point)
    assert result == Comparison([], False, obstacle, result.deadlock)


def test_the_comparison_names_ranks_and_figures() -> None:
    assumed = compare(Point(TINY, Strategy(dp=4, pp=4), RING16), _engine.Method.ASSUME_SYMMETRY)
    assert any(text.startswith("rank 15, wall_time_ns: ") for text in assumed.differences)


def test_the_random_points_contain_broken_preconditions() -> None:
    broken = "the ring of group"
    asymmetric = [point for point in seeded_points(1, 400) if compare(point).obstacle.startswith(broken)]
    assumed = [compare(point, _engine.Method.ASSUME_SYMMETRY) for point in asymmetric]
    assert sum(bool(_wrong_figures(result)) for result in assumed) > 10
