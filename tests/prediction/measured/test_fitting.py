"""The fit finds known constants, keeps to bounds, is not led by outliers, and says what rows do not tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dse.prediction.calibration.fitting import (
    Constant,
    Problem,
    fit,
    least_in_box,
    left_out,
    tolerances,
    uncertainties,
)

Array = NDArray[np.float64]
ROWS = 60
_random = np.random.default_rng(3)
WORK, TRAFFIC, KERNELS = (_random.lognormal(0, 1, ROWS) for _ in range(3))


def seconds(values: Sequence[float], rows: Sequence[int]) -> Array:
    """A roofline with a floor of launches: work and traffic at an efficiency, or kernels times a launch."""
    matrix, memory, launch = values[:3]
    some = list(rows)
    made: Array = np.maximum(WORK[some] / matrix + TRAFFIC[some] / memory, 0.1 * KERNELS[some] * launch)
    return made


def problem(
    truth: Sequence[float],
    noise: Array | None = None,
    extra: Sequence[Constant] = (),
    model: Callable[[Sequence[float], Sequence[int]], Array] = seconds,
) -> Problem:
    every = tuple(range(ROWS))
    measured = model(truth, every) * np.exp(np.zeros(ROWS) if noise is None else noise)
    constants = [
        Constant("matrix", 0.05, 1, 0.6, every),
        Constant("memory", 0.05, 1, 0.4, every),
        Constant("launch", 1, 20, 5, every),
        *extra,
    ]

    def log_ratios(values: Sequence[float], rows: Sequence[int]) -> Array:
        logarithms: Array = np.log(model(values, rows) / measured[list(rows)])
        return logarithms

    return Problem(constants, np.ones(ROWS), log_ratios)


@settings(max_examples=25)
@given(st.floats(0.1, 0.95), st.floats(0.1, 0.95), st.floats(1.5, 18))
def test_constants_that_made_the_measurements_are_found(matrix: float, memory: float, launch: float) -> None:
    found = fit(problem((matrix, memory, launch)))
    assert found.is_converged
    assert np.median(np.abs(found.log_ratios)) < 0.003  # a constant that one row tells is left to its start


def test_known_constants_are_found_to_a_hundredth() -> None:
    found = fit(problem((0.775, 0.49, 4.0)))
    assert found.values == pytest.approx((0.775, 0.49, 4.0), rel=0.01)


def test_a_few_wild_rows_do_not_lead_the_fit() -> None:
    wild = np.zeros(ROWS)
    wild[:6] = math.log(3)
    assert fit(problem((0.775, 0.49, 4.0), wild)).values == pytest.approx((0.775, 0.49, 4.0), rel=0.03)


def test_constants_stay_within_their_bounds() -> None:
    found = fit(problem((1.9, 0.49, 4.0)))
    assert found.values[0] == pytest.approx(1.0)
    assert all(each.low * 0.999 <= value <= each.high * 1.001 for each, value in _pairs(found.values))


def _pairs(values: Sequence[float]) -> list[tuple[Constant, float]]:
    return list(zip(problem((0.5, 0.5, 5)).constants, values, strict=True))


def test_two_fits_of_one_problem_are_equal() -> None:
    noise = _random.normal(0, 0.1, ROWS)
    assert fit(problem((0.6, 0.3, 5.0), noise)).values == fit(problem((0.6, 0.3, 5.0), noise)).values


def test_what_acts_above_a_threshold_only_is_found_from_below_it() -> None:
    """At its start no row is bound by launches, and a slope there says nothing of them."""

    def bound(values: Sequence[float], rows: Sequence[int]) -> Array:
        return np.maximum(seconds((0.5, 0.5, 1.0), rows), 0.3 * values[2] * np.ones(len(rows)))

    measured = bound((0.5, 0.5, 17.0), range(ROWS))
    constants = [Constant("launch", 1, 20, 1.2, tuple(range(ROWS)))]
    task = Problem(
        constants,
        np.ones(ROWS),
        lambda values, rows: np.log(bound((0, 0, values[0]), rows) / measured[list(rows)]),
    )
    assert fit(task).values == pytest.approx((17.0,), rel=0.01)


def test_a_constant_that_no_row_tells_stays_at_its_start() -> None:
    extra = [Constant("idle", 0.05, 1, 0.6, tuple(range(ROWS))), Constant("unused", 0.05, 1, 0.3, ())]
    task = problem((0.775, 0.49, 4.0), extra=extra)
    found = fit(task)
    assert found.values[3:] == pytest.approx((0.6, 0.3))
    assert tolerances(found)[3:] == [0.0, 0.0]
    assert not found.slopes[:, 3:].any()


def test_constants_that_only_act_as_a_product_are_not_told_apart() -> None:
    def model(values: Sequence[float], rows: Sequence[int]) -> Array:
        matrix, memory, _, share = values
        return seconds((matrix * share, memory, 1.0), rows)

    extra = [Constant("share", 0.05, 1, 0.9, tuple(range(ROWS)))]
    found = fit(problem((0.5, 0.49, 4.0, 0.8), extra=extra, model=model))
    matrix, memory, _, share = tolerances(found)
    assert max(matrix, share) < 0.01
    assert memory > 0.1


def test_uncertainty_grows_with_the_noise_and_covers_the_truth() -> None:
    truth = (0.6, 0.4, 5.0)
    shares = []
    for sigma in (0.02, 0.2):
        task = problem(truth, np.random.default_rng(7).normal(0, sigma, ROWS))
        found = fit(task)
        shares.append(uncertainties(task, found, range(ROWS)))
        for value, true, share in zip(found.values, truth, shares[-1], strict=True):
            assert abs(math.log(value / true)) < 5 * share
    assert all(4 < noisy / quiet < 25 for quiet, noisy in zip(*shares, strict=True))


def test_one_group_has_no_uncertainty() -> None:
    task = problem((0.6, 0.4, 5.0))
    assert uncertainties(task, fit(task), [1] * ROWS) == [math.inf] * 3


def test_rows_left_out_are_predicted_without_them() -> None:
    """The rows held out were measured on a machine twice as slow: the others cannot know."""
    noise = np.zeros(ROWS)
    noise[:10] = math.log(2)
    task = problem((0.6, 0.3, 5.0), noise)
    errors = left_out(task, fit(task), range(10))
    assert errors == pytest.approx(np.full(10, -math.log(2)), abs=0.02)


def test_a_constant_of_left_out_rows_only_goes_back_to_its_start() -> None:
    held = tuple(range(10))

    def model(values: Sequence[float], rows: Sequence[int]) -> Array:
        own = np.isin(list(rows), held)
        return seconds(values, rows) * np.where(own, values[3], 1.0)

    task = problem((0.6, 0.3, 5.0, 4.0), extra=[Constant("own", 1, 10, 2.0, held)], model=model)
    found = fit(task)
    assert found.values[3] == pytest.approx(4.0, rel=0.01)
    assert left_out(task, found, held) == pytest.approx(np.full(10, math.log(2 / 4)), abs=0.02)


def test_a_constant_that_others_hardly_tell_forgets_what_the_left_out_rows_said() -> None:
    """One more row may depend on it, but is not so slow that it does."""
    held = tuple(range(10))

    def model(values: Sequence[float], rows: Sequence[int]) -> Array:
        own = np.isin(list(rows), held)
        plain = seconds(values, rows)
        return np.where(own, plain * values[3], np.maximum(plain, 1e-6 * values[3]))

    own = Constant("own", 1, 10, 2.0, (*held, 10))
    task = problem((0.6, 0.3, 5.0, 5.4), extra=[own], model=model)
    found = fit(task)
    assert found.values[3] == pytest.approx(5.4, rel=0.01)
    assert left_out(task, found, held) == pytest.approx(np.full(10, math.log(2 / 5.4)), abs=0.02)


def test_weights_decide_between_rows_that_disagree() -> None:
    """A constant factor is a weighted median: the side that weighs more wins."""
    noise = np.where(np.arange(ROWS) < 20, math.log(1.2), 0.0)
    measured = np.exp(noise)
    assert _factor(measured, np.ones(ROWS)) == pytest.approx(1.0, rel=0.01)
    assert _factor(measured, np.where(np.arange(ROWS) < 20, 10.0, 1.0)) == pytest.approx(1.2, rel=0.01)


def _factor(measured: Array, weights: Array) -> float:
    constants = [Constant("factor", 0.1, 10, 1.1, tuple(range(ROWS)))]
    task = Problem(constants, weights, lambda values, rows: np.log(values[0] / measured[list(rows)]))
    return fit(task).values[0]


@settings(max_examples=200)
@given(st.integers(1, 12), st.integers(1, 20), st.integers(0, 10**6))
def test_the_least_in_a_box_has_no_way_down(count: int, rows: int, seed: int) -> None:
    """Its slope is 0 between bounds, and leads outwards at a bound; where nothing acts it stays."""
    random = np.random.default_rng(seed)
    some = random.normal(0, 1, (rows, count)) * random.choice([0.0, 1.0], count, p=[0.2, 0.8])
    curvature = some.T @ some + np.diag(1e-3 * (np.abs(some).sum(axis=0) > 0))
    slope = random.normal(0, 3, count) * (np.diag(curvature) > 0)
    low = -random.choice([0.0, 0.1, 1.0, np.inf], count)
    high = random.choice([0.0, 0.1, 1.0, np.inf], count)
    first = random.normal(0, 1, count)
    x = least_in_box(curvature, slope, low, high, first)
    assert (x >= low).all()
    assert (x <= high).all()
    down = -(slope + curvature @ x)
    assert (np.abs(down[(low < x) & (x < high)]) < 1e-6 * (1 + np.abs(slope).max())).all()
    assert (down[(x == low) & (x < high)] <= 1e-9).all()
    assert (down[(x == high) & (x > low)] >= -1e-9).all()
    untold = np.diag(curvature) == 0
    assert (x[untold] == np.clip(first, low, high)[untold]).all()
