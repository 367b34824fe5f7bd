"""Strategies as columns are the strategies that they were made of, in their order, however they are cut."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from dse.inputs.strategies import AXES, AXIS, Strategy
from dse.inputs.strategies.columns import Strategies

VALUES: dict[str, tuple[Any, ...]] = {
    "dp": (1, 2, 4, 2**70),
    "tp": (1, True, 8),
    "zero": (0, 1, 2),
    "weight_sharded": (False, True),
    "schedule": ("1f1b", "interleaved", "zb-h1"),
    "order": ("tp-cp-ep-dp-pp", "pp-tp-dp-cp-ep"),
}


def drawn(seed: int, count: int) -> list[Strategy]:
    draw = random.Random(seed)
    return [Strategy(**{name: draw.choice(values) for name, values in VALUES.items()}) for _ in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_columns_are_the_strategies(count: int) -> None:
    some = drawn(count, count)
    columns = Strategies.of(some)
    assert list(map(repr, columns)) == list(map(repr, some))
    assert columns == some
    assert [columns[place] for place in range(count)] == some
    assert columns[3:70:7] == some[3:70:7]
    assert Strategies.of(columns) is columns


def test_strategies_are_chosen_by_a_mask_or_by_places() -> None:
    some = drawn(5, 100)
    columns = Strategies.of(some)
    mask = np.array([one.dp == 2 for one in some])
    assert columns.take(mask) == [one for one in some if one.dp == 2]
    assert columns.take(np.array([7, 3, 3])) == [some[7], some[3], some[3]]
    assert columns.take(np.zeros(100, bool)) == []


def test_a_column_has_the_values_of_an_axis() -> None:
    some = drawn(6, 50)
    columns = Strategies.of(some)
    for axis in AXES:
        values = np.broadcast_to(columns.column(axis.name), 50).tolist()
        assert values == [getattr(one, axis.name) for one in some]
    assert columns.framework == AXIS["framework"].default
    with pytest.raises(AttributeError):
        _ = columns.unknown


@pytest.mark.parametrize("names", [("dp",), ("dp", "zero", "schedule"), tuple(VALUES), ("framework",)])
def test_kinds_number_the_combinations_that_occur(names: tuple[str, ...]) -> None:
    some = drawn(7, 200)
    firsts, kinds = Strategies.of(some).kinds(names)
    of_row = [tuple((type(getattr(one, name)), getattr(one, name)) for name in names) for one in some]
    assert len(firsts) == len(set(of_row))
    assert [of_row[firsts[kind]] for kind in kinds] == of_row
    assert [of_row.index(of_row[first]) for first in firsts] == firsts.tolist()


def test_many_axes_have_kinds_too() -> None:
    draw = random.Random(8)
    names = [axis.name for axis in AXES if axis.kind in ("degree", "count")]
    some = [Strategy(**{name: draw.randrange(1, 60) for name in names}) for _ in range(120)]
    firsts, kinds = Strategies.of(some).kinds(names)
    assert [some[firsts[kind]] for kind in kinds] == some
    assert len(firsts) == len(set(some))


def test_crossing_varies_the_last_axis_fastest() -> None:
    columns = Strategies.of([Strategy(dp=2), Strategy(dp=4)]).crossed("chunks", (1, 4)).crossed("zero", (0,))
    assert columns == [Strategy(dp=dp, chunks=chunks, zero=0) for dp in (2, 4) for chunks in (1, 4)]
