"""Errors of runs whose models were left out of the fit: no run tells the constants that predict it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dse.prediction.accuracy.accuracy import fold_names
from dse.prediction.accuracy.comparison import compare
from dse.prediction.calibration.constants import Owner, Sample, samples
from dse.prediction.calibration.unseen import never_fitted_errors, unseen_errors
from dse.prediction.intervals.kinds import Kind
from dse.prediction.measured.rows import fitted_rows

STARTS = {Owner("h100_sxm"): {"matrix": 0.6}}
SLOWER = 1.3


@pytest.fixture(scope="module")
def steps() -> list[Sample]:
    """Eight runs of LLM Foundry on H100."""
    rows = [row for row in fitted_rows() if row.source == "MosaicML-LLMFoundry" and "H100" in row.gpu]
    found, reasons = samples(rows[::3][:8])
    assert not reasons
    return found


def test_a_model_that_ran_slower_has_that_much_other_errors_and_changes_those_of_others_only_by_the_fit(
    steps: list[Sample],
) -> None:
    names = fold_names([step.row for step in steps], "model")
    held = [place for place, name in enumerate(names) if name == names[0]]
    assert 0 < len(held) < len(steps)
    changed = [
        replace(step, row=replace(step.row, iter_s=SLOWER * step.row.iter_s)) if place in held else step
        for place, step in enumerate(steps)
    ]
    before, after = unseen_errors(steps, STARTS), unseen_errors(changed, STARTS)
    for place in held:
        assert after[place].error == pytest.approx(before[place].error - math.log(SLOWER), abs=1e-6)
    others = [
        abs(after[place].error - before[place].error) for place in range(len(steps)) if place not in held
    ]
    assert 0 < max(others) < math.log(SLOWER)


def test_rows_that_no_constant_is_fitted_to_are_unseen_as_they_are(steps: list[Sample]) -> None:
    compared = compare([step.row for step in steps])
    (found,) = never_fitted_errors(compared, steps[1:])
    assert found.error == pytest.approx(math.log(1 + compared[0].error_pct / 100))
    assert found.model == f"{steps[0].row.layers} x {steps[0].row.hidden}"


def test_runs_have_their_kind_publisher_and_model(steps: list[Sample]) -> None:
    first, row = unseen_errors(steps, STARTS)[0], steps[0].row
    assert first.publisher == "MosaicML-LLMFoundry"
    assert first.model == f"{row.layers} x {row.hidden}"
    assert first.kind._replace(scale="", bits=16) == Kind("h100_sxm", 16, "dense", False, "llm-foundry", "")
