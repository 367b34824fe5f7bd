"""Intervals of predictions: their quantiles, what few runs tell, and how often unseen steps lie in them."""

from __future__ import annotations

import math
from itertools import product
from random import Random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.prediction.intervals.coverage import ALLOWED_PCT, coverages, held_out
from dse.prediction.intervals.interval import (
    by_closeness,
    effective_number,
    interval_from,
    interval_of,
    quantile,
    weighted,
    wider,
)
from dse.prediction.intervals.kinds import Kind, scale_of, words_of
from dse.prediction.intervals.unseen import Unseen, read, unseen_runs, write

KIND = Kind("h100_sxm", 16, "dense", False, "megatron-core", "9 to 64")


def runs_of(errors: list[float], kind: Kind = KIND) -> list[Unseen]:
    """Runs of a model each."""
    return [Unseen(kind, "Bench", f"model {place}", error) for place, error in enumerate(errors)]


def normal(count: int, seed: int, deviation: float = 0.1, bias: float = 0.0) -> list[float]:
    random = Random(seed)
    return [random.gauss(bias, deviation) for _ in range(count)]


def test_many_runs_of_a_kind_make_the_interval_alone() -> None:
    """Of a normal distribution 80 % lie within 1.2816 deviations."""
    spread = [NormalDist(0.0, 0.1).inv_cdf((place + 0.5) / 4000) for place in range(4000)]
    found = interval_from(KIND, runs_of(spread))
    assert found is not None
    assert math.log(found.high) == pytest.approx(0.12816, rel=1e-3)
    assert math.log(found.low) == pytest.approx(-0.12816, rel=1e-3)
    assert found.rows == 4000
    assert found.basis == "4000 unseen rows of megatron-core on h100_sxm, 16 bit, dense, cp 1, 9 to 64 NPUs"


def test_predictions_that_were_too_slow_have_an_interval_below_them() -> None:
    found = interval_from(KIND, runs_of(normal(500, 1, 0.05, bias=0.2)))
    assert found is not None
    assert found.high < 1


@pytest.mark.parametrize("count", [10, 30, 100])
def test_the_interval_of_a_normal_sample_holds_eighty_per_cent(count: int) -> None:
    """Of 400 samples of this size, how much of the distribution their interval holds on average."""
    held = []
    for seed in range(400):
        found = interval_from(KIND, runs_of(normal(count, seed)))
        assert found is not None
        law = NormalDist(0.0, 0.1)
        held.append(law.cdf(math.log(found.high)) - law.cdf(math.log(found.low)))
    assert sum(held) / len(held) == pytest.approx(0.8, abs=0.03)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.integers(0, 5))
def test_an_interval_contains_its_median(errors: list[float], level: int) -> None:
    kind = KIND if level else KIND._replace(accelerator="unheard of")
    found = interval_from(kind, runs_of(errors))
    assert found is not None
    ordered = sorted(-error for error in errors)
    middle = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    assert math.log(found.low) <= middle[1] + 1e-9
    assert math.log(found.high) >= middle[0] - 1e-9


def test_fewer_runs_and_runs_of_one_model_make_it_wider() -> None:
    assert wider(math.inf) == 1
    assert wider(10) == pytest.approx(1.1180, abs=1e-3)
    assert wider(3) == pytest.approx(1.4092, abs=1e-3)
    alike = [Unseen(KIND, "Bench", "one model", 0.0)] * 100
    assert effective_number([(run, 1.0) for run in runs_of([0.0] * 100)]) == pytest.approx(100)
    assert effective_number([(run, 1.0) for run in alike]) == pytest.approx(100 / (0.7 + 0.3 * 100))


def test_an_accelerator_that_was_never_measured_has_a_wider_interval() -> None:
    runs = runs_of(normal(300, 2))
    known, unknown = (interval_from(KIND._replace(accelerator=name), runs) for name in ("h100_sxm", "new"))
    assert known is not None
    assert unknown is not None
    assert unknown.low < known.low < 1 < known.high < unknown.high
    assert (known.knows_accelerator, unknown.knows_accelerator) == (True, False)
    assert unknown.basis == "no measured run of this kind, 300 unseen rows of megatron-core, dense"
    assert math.log(unknown.high / unknown.low) > 1.4 * math.log(known.high / known.low)


def test_few_runs_of_a_kind_are_filled_up_from_wider_ones() -> None:
    """Twelve runs of their kind count as much as all others together."""
    own, others = runs_of([0.0] * 12), runs_of([0.0] * 500, KIND._replace(scale="above 512"))
    pairs = weighted(by_closeness(KIND, [*own, *others]))
    assert sum(weight for _, weight in pairs) == pytest.approx(1)
    assert sum(weight for run, weight in pairs if run.kind == KIND) == pytest.approx(0.5)


def test_kinds_get_wider_feature_by_feature() -> None:
    other = {"scale": "1 to 8", "context": True, "bits": 8, "accelerator": "b200", "blocks": "experts"}
    other["framework"] = "maxtext"
    for level, (name, value) in enumerate(other.items(), 1):
        changed = KIND._replace(**{name: value})
        assert [bool(some) for some in by_closeness(KIND, runs_of([0.0], changed))].index(True) == level
    assert words_of(KIND, 3) == "megatron-core on h100_sxm, dense"
    assert words_of(KIND, 6) == "all kinds"


def test_quantiles_lie_between_values_by_their_weights() -> None:
    values, weights = [3.0, 1.0, 2.0, 4.0], [1.0] * 4
    assert [quantile(values, weights, share) for share in (0.1, 0.25, 0.5, 0.75, 0.9)] == [
        1,
        1.5,
        2.5,
        3.5,
        4,
    ]
    assert quantile([1.0, 5.0], [9.0, 1.0], 0.45) == 1
    assert quantile([1.0, 5.0], [9.0, 1.0], 0.7) == 3


def test_a_table_is_read_as_it_was_written() -> None:
    kinds = [KIND._replace(context=context, bits=bits) for context, bits in product((True, False), (4, 16))]
    runs = [Unseen(kind, "A, B", "32 x 4096", error) for kind in kinds for error in (-0.123, 0.0, 1.5)]
    written = list(read(write(runs, "a comment")))
    assert sorted(written, key=str) == sorted(runs, key=str)
    assert list(read(write([], "nothing"))) == []


def test_the_package_brings_errors_of_all_published_runs_that_can_be_expressed() -> None:
    runs = unseen_runs("time")
    assert len(runs) > 1000
    assert len({run.kind for run in runs}) > 60
    assert unseen_runs("of nothing") == ()
    assert interval_of(KIND, "of nothing") is None


def test_a_run_is_held_out_with_all_of_its_model() -> None:
    one = [Unseen(KIND, "Bench", "outlier", 2.0)] * 3
    held = held_out([*runs_of(normal(100, 3)), *one])
    assert [one.is_inside for one in held[-3:]] == [False] * 3
    assert sum(one.is_inside for one in held[:-3]) == pytest.approx(82, abs=6)


def test_unseen_steps_lie_in_their_interval_as_often_as_it_says() -> None:
    every = next(line for line in coverages(held_out(unseen_runs())) if line.kind == "all")
    assert ALLOWED_PCT[0] <= every.inside_pct <= ALLOWED_PCT[1]


def test_scales_are_ranges_of_npus() -> None:
    assert [scale_of(npus) for npus in (1, 8, 9, 64, 65, 512, 513)] == [
        *("1 to 8", "1 to 8", "9 to 64", "9 to 64", "65 to 512", "65 to 512", "above 512")
    ]
