"""Schedules of the engine have the timetables of the modules of dse/inputs/strategies/schedules/kinds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dse.inputs.strategies.schedules import SCHEDULES
from dse.inputs.strategies.schedules.schedule import KINDS
from dse.native import _engine

SHAPES = tuple(itertools.product((1, 2, 3, 4, 6, 8, 16), (1, 2, 3, 4), (1, 2, 3, 4, 6, 8, 16, 33)))


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_engine_has_the_timetable_of_every_schedule(name: str) -> None:
    schedule = SCHEDULES[name]
    ran = 0
    for stages, chunks, micro_batches in SHAPES:
        shape = (stages, chunks, micro_batches)
        problem, ticks, messages = _engine.builtin_timetable(name, *shape)
        assert problem == schedule.problem(*shape)
        if problem:
            continue
        ran += 1
        expected = [own for own in schedule.timetable(*shape) if own is not None]
        assert len(ticks) == len(expected)
        for own, found in zip(expected, ticks, strict=True):
            assert np.array_equal(np.broadcast_to(own, shape).reshape(-1), found), shape
        assert messages == [
            [KINDS.index(kind), *source, *destination, link]
            for kind, source, destination, link in schedule.messages(stages, chunks)
        ]
    assert ran > 10


def test_schedules_of_other_packages_are_not_those_of_the_engine() -> None:
    with pytest.raises(KeyError, match="mine"):
        _engine.builtin_timetable("mine", 2, 1, 4)
