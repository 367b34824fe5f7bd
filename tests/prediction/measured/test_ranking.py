"""Rank correlation and the loss of a pick, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.prediction.accuracy.comparison import Compared
from dse.prediction.accuracy.ranking import mean_ranks, pick_loss_pct, ranking, spearman
from dse.prediction.measured.rows import MeasuredRow

ROW = MeasuredRow("x", 4, 64, 4, 128, "A100", 8, 16, 1.0, source="s")
TIMES = st.lists(st.floats(0.01, 100), min_size=2, max_size=12)


def group(times: Sequence[tuple[float, float]], **fields: object) -> list[Compared]:
    """Strategies that differ in tp, with their predicted and measured times."""
    return [
        Compared(replace(ROW, id=f"{i}", tp=i, iter_s=measured, **fields), predicted_s=predicted)  # type: ignore[arg-type]
        for i, (predicted, measured) in enumerate(times, 1)
    ]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4, 5], [10, 20, 30, 40, 50], 1.0),
        ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1], -1.0),
        # 1 - 6 * (1 + 1 + 1 + 1 + 0) / (5 * 24)
        ([1, 2, 3, 4, 5], [2, 1, 4, 3, 5], 0.8),
        # ranks 1, 2.5, 2.5, 4 against 1 to 4: 4.5 / sqrt(4.5 * 5)
        ([1, 2, 2, 3], [1, 2, 3, 4], 0.9486832980505138),
        ([1, 1, 1], [1, 2, 3], 0.0),
    ],
)
def test_rank_correlation_of_known_orders(first: list[float], second: list[float], expected: float) -> None:
    assert spearman(first, second) == pytest.approx(expected)


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert mean_ranks([3.0, 1.0, 3.0, 2.0, 3.0]) == [4.0, 1.0, 4.0, 2.0, 4.0]


@given(TIMES, st.floats(0.1, 3))
def test_only_the_order_counts(times: list[float], power: float) -> None:
    bent = [time**power for time in times]
    if len(set(bent)) == len(set(times)):
        assert spearman(times, bent) == pytest.approx(1.0 if len(set(times)) > 1 else 0.0)


@given(TIMES, st.randoms())
def test_rank_correlation_is_symmetric_and_between_its_bounds(times: list[float], random: object) -> None:
    other = sorted(times, key=lambda _: random.random())  # type: ignore[attr-defined]
    found = spearman(times, other)
    assert -1 - 1e-9 <= found <= 1 + 1e-9
    assert found == pytest.approx(spearman(other, times))


def test_the_pick_loses_what_it_takes_longer_than_the_fastest() -> None:
    assert pick_loss_pct([2.0, 1.0, 3.0], [10.0, 12.0, 11.0]) == pytest.approx(20.0)
    assert pick_loss_pct([1.0, 2.0, 3.0], [10.0, 12.0, 11.0]) == 0.0
    assert pick_loss_pct([1.0, 1.0, 3.0], [10.0, 12.0, 11.0]) == pytest.approx(10.0)  # one of two, by chance


def test_groups_are_of_equal_model_gpus_batch_and_source() -> None:
    good = group([(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)])
    bad = group([(1, 1.5), (2, 1), (3, 2), (4, 3), (5, 4)], gbs=32)
    small = group([(1, 2), (2, 1), (3, 1), (4, 1)], gpus=16)
    elsewhere = group([(9, 9)], source="t")
    found = ranking([*good, *bad, *small, *elsewhere])
    assert (found.groups, found.rows) == (2, 10)
    assert found.spearman_mean == pytest.approx((1.0 + 0.9) / 2)
    assert found.pick_loss_mean_pct == pytest.approx(25.0)
    assert found.pick_loss_max_pct == pytest.approx(50.0)


def test_a_strategy_measured_twice_counts_once_by_its_mean() -> None:
    times = group([(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)])
    again = Compared(replace(times[0].row, id="again", iter_s=2.0), predicted_s=1.0)
    found = ranking([*times, again])
    assert found.rows == 5
    assert found.pick_loss_max_pct == 0.0
    assert ranking([*times[:4], again]).groups == 0


def test_rows_without_a_prediction_rank_nowhere() -> None:
    times = group([(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)])
    assert ranking([*times[:4], Compared(times[4].row, "not expressible")]).groups == 0
    assert ranking([]).spearman_mean is None


def test_unknown_is_a_value_of_its_own_in_a_strategy() -> None:
    rows = [replace(ROW, id=str(mbs), mbs=mbs, iter_s=1.0 + (mbs or 0)) for mbs in (None, 1, 2, 3, 4)]
    found = ranking([Compared(row, predicted_s=row.iter_s) for row in rows])
    assert (found.groups, found.rows, found.spearman_mean) == (1, 5, pytest.approx(1.0))
