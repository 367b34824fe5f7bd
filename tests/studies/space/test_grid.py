"""Lists of keys are axes: all combinations, in a fixed order, and few enough for one study."""

from __future__ import annotations

import pytest

from dse.base.errors import InputError
from dse.studies.space.grid import combinations

TORUS = "torus__dim=[2,3]__alpha=500__beta=50"


def test_brackets_may_be_nested_in_lists() -> None:
    assert combinations({"topology": f"[{TORUS},a.csv]"}) == [{"topology": TORUS}, {"topology": "a.csv"}]
    assert combinations({"topology": TORUS}) == [{"topology": TORUS}]


def test_the_value_of_a_whole_key_keeps_its_brackets() -> None:
    assert combinations({"dimensions": "[0,1]"}, whole=("dimensions",)) == [{"dimensions": "[0,1]"}]


def test_all_combinations_are_made_the_last_key_fastest() -> None:
    made = combinations({"collective": "[all_gather,broadcast]", "seed": "[0,1]", "gb": "gib"})
    assert [(each["collective"], each["seed"], each["gb"]) for each in made] == [
        ("all_gather", "0", "gib"),
        ("all_gather", "1", "gib"),
        ("broadcast", "0", "gib"),
        ("broadcast", "1", "gib"),
    ]


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    numbers = f"[{','.join(map(str, range(101)))}]"
    with pytest.raises(InputError, match="the lists make 1030301 combinations; at most 1000000"):
        combinations({"a": numbers, "b": numbers, "c": numbers})
