"""Rows of a part are in the order of their type, as comparing them one by one has it; nulls are last."""

from __future__ import annotations

import dataclasses
import random
from operator import attrgetter

import pytest
from study_rows import ROW

from dse.studies.store import POINTS, StudyRow
from dse.studies.store.order import sorted_rows


def rows(seed: int, count: int, dps: int) -> list[StudyRow]:
    draw = random.Random(seed)
    return [
        dataclasses.replace(
            ROW,
            model=draw.choice(("tiny", "llama70b")),
            dp=draw.randrange(1, dps),
            weight_sharded=draw.random() < 0.5,
            schedule=draw.choice(("1f1b", "zb-v", "interleaved")),
            key=f"{draw.randrange(16**32):032x}",
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("dps", [3, 10**9])  # only the key tells them apart, or the rest does
@pytest.mark.parametrize("count", [0, 1, 500])
def test_rows_are_in_the_order_of_their_type(count: int, dps: int) -> None:
    some = rows(count, count, dps)
    found = POINTS.rows(sorted_rows(POINTS, POINTS.table(some)))
    assert found == sorted(some, key=attrgetter(*POINTS.order))


def test_rows_without_a_key_are_last_among_equal_ones() -> None:
    some = [dataclasses.replace(ROW, key=key) for key in (None, "b", "a")]
    found = POINTS.rows(sorted_rows(POINTS, POINTS.table(some)))
    assert [row.key for row in found] == ["a", "b", None]
