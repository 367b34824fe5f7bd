"""Degrees without a list are all with which a strategy fills the system's NPUs, and no others are tried."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from two_rings import TINY, rings

from dse.base.errors import InputError
from dse.inputs.strategies import AXES, DEGREES, Strategy
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, evaluate, scenario_of
from dse.studies.space import DesignSpace
from dse.studies.space.degrees import degree_combinations, divisors

POWERS = (1, 2, 4, 8, 16, 32, 64)
OPEN = DesignSpace(
    "full",
    {
        **dict.fromkeys(("dp", "tp", "sp", "pp")),
        "weight_sharded": (False, True),
        "activation_recompute": (True, False),
    },
    ("dp * tp * sp * pp == npus",),
)


def with_choices(**choices: tuple[int, ...]) -> DesignSpace:
    return replace(OPEN, choices={**OPEN.choices, **choices})


def test_the_full_space_of_64_npus_is_that_of_the_powers_of_two_in_the_same_order() -> None:
    listed = with_choices(dp=POWERS, tp=POWERS, sp=POWERS, pp=POWERS)
    assert OPEN.strategies(TINY, rings(64)) == listed.strategies(TINY, rings(64))
    assert len(OPEN.strategies(TINY, rings(64))) == 336


def test_all_divisors_are_degrees_where_the_npus_are_no_power_of_two() -> None:
    points = OPEN.strategies(TINY, rings(96))
    assert {point.tp for point in points} == {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96}
    assert {point.npus for point in points} == {96}


def test_only_what_fills_the_system_is_tried() -> None:
    survey = OPEN.survey([TINY], [rings(2**17)])
    assert (survey.points, survey.combinations) == (4560, 4560)
    some = with_choices(tp=(4, 2, 5), pp=(1,), weight_sharded=(False,), activation_recompute=(False,))
    assert [(point.dp, point.tp, point.sp) for point in some.strategies(TINY, rings(8))] == [
        *[(1, 4, 2), (1, 2, 4), (2, 4, 1), (2, 2, 2), (4, 2, 1)]
    ]


def test_lists_that_cannot_fill_the_system_are_named() -> None:
    with pytest.raises(InputError, match=r"space 'full' is empty: space.tp \[5\] cannot fill the 16 NPUs of"):
        with_choices(tp=(5,)).strategies(TINY, rings(16))


@settings(deadline=None)
@given(st.integers(1, 60), st.none() | st.lists(st.integers(1, 8), min_size=1, max_size=4, unique=True))
def test_they_are_the_combinations_of_divisors_that_fill_the_system(npus: int, tp: list[int] | None) -> None:
    degrees = [divisors(npus), tp or divisors(npus), divisors(npus), divisors(npus)]
    expected = [each for each in itertools.product(*degrees) if math.prod(each) == npus]
    others = {axis.name: (axis.default,) for axis in AXES if axis.since > 1}
    axes = {**others, "dp": None, "tp": tp, "sp": None, "pp": None}
    found = [Strategy(**dict(zip(DEGREES, each, strict=True))) for each in degree_combinations(axes, npus)]
    assert found == [Strategy(*each) for each in expected]


def test_the_full_space_of_512_npus_has_dp_512_which_beats_all_of_the_lab() -> None:
    config = compose_config(["system=tpu_512", "space=full"])
    widest = Strategy(dp=512)
    assert widest in config.space.strategies(config.model, config.system)
    assert evaluate(DesignPoint(scenario_of(config), widest)).wall_time_ns == 443_972_602


def test_a_list_says_which_divisors_it_leaves_out() -> None:
    lab = compose_config(["space=lab"]).space
    assert lab.missing_degrees(rings(64)) == {}
    assert lab.missing_degrees(rings(256)) == {"dp": [128, 256], "tp": [128, 256], "sp": [128, 256]}
    assert lab.missing_degrees(rings(6)) == {"dp": [3, 6], "tp": [3, 6], "sp": [3, 6]}
    assert OPEN.missing_degrees(rings(6)) == {}
