"""The optimum for every cap, the Pareto front and the best of groups, against their definitions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_rows import keyed, rankable_rows, row

from dse.answers import best, cap_curve, pareto_front, ranking
from dse.answers.tops import tops
from dse.base.errors import InputError
from dse.studies.store import StudyRow


def point(wall_time_ns: int, peak_memory_bytes: int | None, **changes: object) -> StudyRow:
    return row(wall_time_ns=wall_time_ns, peak_memory_bytes=peak_memory_bytes, **changes)


POINTS = [point(9, 10), point(5, 20), point(7, 20), point(6, 30), point(3, 40), point(3, 50), point(1, None)]


def test_the_curve_has_a_step_wherever_more_memory_makes_it_faster() -> None:
    steps = [(step.memory_cap_bytes, step.row.wall_time_ns) for step in cap_curve(POINTS)]
    assert steps == [(10, 9), (20, 5), (40, 3)]


@settings(max_examples=200, deadline=None)
@given(st.lists(rankable_rows(), max_size=12))
def test_the_best_under_any_cap_is_the_last_step_up_to_it(rows: list[StudyRow]) -> None:
    steps = cap_curve(rows)
    for cap in range(6):
        expected = best(rows, memory_cap_bytes=cap)
        below = [step.row for step in steps if step.memory_cap_bytes <= cap]
        got = below[-1] if below else None
        assert (got is None) == (expected is None)
        if got is not None and expected is not None:
            assert got.wall_time_ns == expected.wall_time_ns


@settings(max_examples=200, deadline=None)
@given(st.lists(rankable_rows(), max_size=12))
def test_no_point_beats_one_of_the_front_and_some_point_of_it_equals_or_beats_every_other(
    rows: list[StudyRow],
) -> None:
    for columns in (("wall_time_ns", "peak_memory_bytes"), ("wall_time_ns", "peak_memory_bytes", "dp")):
        front = pareto_front(rows, columns)
        values = [tuple(getattr(point, name) for name in columns) for point in front]
        assert len(set(values)) == len(values)
        assert values == sorted(values)
        for other in ranking(rows):
            theirs = tuple(getattr(other, name) for name in columns)
            assert any(all(a <= b for a, b in zip(mine, theirs, strict=True)) for mine in values)
            for mine in values:
                assert mine == theirs or not all(b <= a for a, b in zip(mine, theirs, strict=True))


def test_a_study_without_peaks_has_no_curve() -> None:
    with pytest.raises(
        InputError, match="no point that is ok has a value in wall_time_ns, peak_memory_bytes"
    ):
        cap_curve([point(3, None)])
    assert cap_curve([]) == []
    assert cap_curve([row(status="deadlock", wall_time_ns=None, peak_memory_bytes=None)]) == []


def test_the_best_of_every_group_in_the_order_of_its_values() -> None:
    rows = [
        *keyed(1, 2, 4, tp=2, wall_time_ns=5),
        *keyed(8, tp=1, wall_time_ns=9),
        *keyed(16, tp=1, wall_time_ns=3),
        *keyed(32, tp=1, status="failed", wall_time_ns=None),
    ]
    found = [(values, [entry.dp for entry in entries]) for values, entries in tops(rows, ["tp"], 2)]
    assert found == [((1,), [16, 8]), ((2,), [1, 2])]
    assert [[entry.dp for entry in entries] for _, entries in tops(rows, [], 2)] == [[16, 1]]
    assert [values for values, _ in tops(rows, ["model", "tp"], 1)] == [("llama70b", 1), ("llama70b", 2)]
    with pytest.raises(InputError, match="unknown column 'seq'"):
        tops(rows, ["seq"], 1)
