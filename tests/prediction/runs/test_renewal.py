"""Expected times under failures: against simulated events, closed forms, and laws that any run obeys."""

from __future__ import annotations

import math
import os
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.prediction.runs.renewal import (
    ENDLESS,
    Checkpoints,
    FailureClass,
    Spares,
    best_interval_s,
    daly_interval_s,
    erlang_loss,
    expected,
    young_interval_s,
)
from tests.references.failing_runs import simulated_total

SETTINGS = 200 if os.environ.get("DSE_NIGHTLY") else 40


def _setting(chooser: random.Random) -> tuple[float, Checkpoints, list[FailureClass], Spares | None]:
    between_s = 10 ** chooser.uniform(3, 6)
    interval_s = between_s * 10 ** chooser.uniform(-2.2, 0)
    writing_s = chooser.choice([0.0, interval_s * chooser.uniform(0, 0.8)])
    weights = [chooser.random() for _ in range(chooser.randint(1, 4))]
    classes = [
        FailureClass(
            f"kind {number}",
            weight / sum(weights) / between_s,
            between_s * 10 ** chooser.uniform(-3, -0.3),
            chooser.random() < 0.6,
        )
        for number, weight in enumerate(weights)
    ]
    spares = chooser.choice([None, Spares(chooser.randint(0, 4), between_s * chooser.uniform(0.1, 3))])
    return interval_s, Checkpoints(interval_s * 10 ** chooser.uniform(-3, -0.5), writing_s), classes, spares


@pytest.mark.slow
def test_expected_times_are_those_of_simulated_jobs() -> None:
    """Within 0.5 %; where the first sample is further off than 0.25 %, one of eight times as many decides."""
    chooser, failures = random.Random(7), 0
    for number in range(SETTINGS):
        setting = _setting(chooser)
        total = expected(*setting).total
        found, seen = simulated_total(*setting, jobs=300, events=1000, seed=number)
        failures += seen
        if abs(found / total - 1) > 0.0025:
            found, seen = simulated_total(*setting, jobs=1200, events=2000, seed=SETTINGS + number)
            failures += seen
        assert found == pytest.approx(total, rel=0.005), setting
    assert failures > 10**6


def test_without_writing_it_is_the_formula_of_daly() -> None:
    """Daly 2006, equation 20: M exp(R/M) (exp((t + C)/M) - 1) / t, whose restarts are of one kind."""
    between, restart, interval, blocking = 8e4, 900.0, 5e3, 120.0
    classes = [FailureClass("any", 1 / between, restart, takes_node=False)]
    found = expected(interval, Checkpoints(blocking), classes)
    daly = between * math.exp(restart / between) * math.expm1((interval + blocking) / between) / interval
    assert found.total == pytest.approx(daly, rel=1e-12)


def test_parts_are_those_of_a_run_by_hand() -> None:
    """Without failures only checkpoints cost."""
    found = expected(100.0, Checkpoints(5.0, 20.0), [])
    assert (found.total, found.checkpoints, found.lost, found.recovery, found.failures) == (
        1.05,
        0.05,
        0,
        0,
        0,
    )


def test_a_job_that_dies_before_its_checkpoint_makes_no_progress() -> None:
    classes = [FailureClass("any", 1.0, 0.5, takes_node=True)]
    assert expected(1e4, Checkpoints(1.0), classes) == ENDLESS
    assert (
        expected(1.0, Checkpoints(0.1), [FailureClass("any", 1.0, 1e6, takes_node=False)]).total == math.inf
    )


@pytest.mark.parametrize(
    ("offered", "servers", "loss"), [(1.0, 0, 1.0), (1.0, 1, 0.5), (2.0, 2, 0.4), (10.0, 10, 0.21458)]
)
def test_losses_are_those_of_erlangs_table(offered: float, servers: int, loss: float) -> None:
    assert erlang_loss(offered, servers) == pytest.approx(loss, abs=5e-6)


CLASSES = st.lists(
    st.builds(FailureClass, st.just("any"), st.floats(1e-7, 1e-4), st.floats(0, 3e3), st.booleans()),
    min_size=1,
    max_size=3,
)
SPARES = st.none() | st.builds(Spares, st.integers(0, 5), st.floats(1, 1e6))
CHECKPOINTS = st.builds(Checkpoints, st.floats(0.01, 600), st.floats(0, 600))
INTERVALS = st.floats(10, 2e4)


@given(INTERVALS, CHECKPOINTS, CLASSES, SPARES, st.floats(1, 3))
@settings(max_examples=200, deadline=None)
def test_more_failures_never_make_a_run_shorter(
    interval: float,
    checkpoints: Checkpoints,
    classes: list[FailureClass],
    spares: Spares | None,
    factor: float,
) -> None:
    more = [replace(one, rate=one.rate * factor) for one in classes]
    few, many = (expected(interval, checkpoints, some, spares).total for some in (classes, more))
    assert many >= few * (1 - 1e-9)


@given(INTERVALS, CHECKPOINTS, CLASSES, SPARES, st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_faster_checkpoints_and_restarts_never_make_a_run_longer(
    interval: float,
    checkpoints: Checkpoints,
    classes: list[FailureClass],
    spares: Spares | None,
    factor: float,
) -> None:
    total = expected(interval, checkpoints, classes, spares).total
    faster = Checkpoints(checkpoints.blocking_s * factor, checkpoints.writing_s * factor)
    assert expected(interval, faster, classes, spares).total <= total * (1 + 1e-9)
    sooner = [replace(one, recovery_s=one.recovery_s * factor) for one in classes]
    assert expected(interval, checkpoints, sooner, spares).total <= total * (1 + 1e-9)


@given(INTERVALS, CHECKPOINTS, CLASSES, st.integers(0, 5), st.floats(1, 1e6))
@settings(max_examples=200, deadline=None)
def test_a_further_spare_never_makes_a_run_longer(
    interval: float, checkpoints: Checkpoints, classes: list[FailureClass], spares: int, repair_s: float
) -> None:
    few, more, free = (
        expected(interval, checkpoints, classes, some).total
        for some in (Spares(spares, repair_s), Spares(spares + 1, repair_s), None)
    )
    assert free <= more <= few * (1 + 1e-12)


@given(CHECKPOINTS, CLASSES, SPARES, st.floats(0.2, 5))
@settings(max_examples=100, deadline=None)
def test_no_other_interval_beats_the_best(
    checkpoints: Checkpoints, classes: list[FailureClass], spares: Spares | None, factor: float
) -> None:
    best = best_interval_s(checkpoints, classes, spares)
    other = min(max(best * factor, 1.0), 30 * 86400.0)
    least, found = (expected(one, checkpoints, classes, spares).total for one in (best, other))
    assert least <= found * (1 + 1e-7)


def test_the_best_interval_is_that_of_young_and_daly_where_failures_are_rare() -> None:
    """Daly's is of higher order: nearer to the best one than Young's."""
    rate, blocking = 1e-5, 60.0
    classes = [FailureClass("any", rate, 300.0, takes_node=False)]
    best = best_interval_s(Checkpoints(blocking), classes)
    young, daly = young_interval_s(blocking, rate), daly_interval_s(blocking, rate)
    assert young == pytest.approx(3464.1, abs=0.1)
    assert daly == pytest.approx(best, rel=2e-4)
    assert abs(daly - best) < abs(young - best)
    assert daly_interval_s(2e5, rate) == pytest.approx(1e5, rel=1e-12)
