"""The constants of conf/ are what `make calibrate` gives: they do not drift from the model and the rows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

import pytest

from dse.inputs.accelerators import accelerator
from dse.prediction.calibration.calibration import kinds_of
from dse.prediction.calibration.constants import Owner, Sample, Values, problem, samples
from dse.prediction.calibration.fitting import fit
from dse.prediction.calibration.subjects import Subject, calibrate_one, present_constants, shipped_problem
from dse.prediction.measured.rows import fitted_rows
from dse.prediction.steps.frameworks import framework_named

NIGHTLY = os.environ.get("DSE_NIGHTLY") == "1"
Shipped = tuple[list[Sample], Values, Values, dict[str, str]]
B200 = Owner("b200")


@pytest.fixture(scope="module")
def shipped() -> Shipped:
    return shipped_problem(fitted_rows())


def gained(shipped: Shipped, constants: Mapping[str, float]) -> float:
    """How much a fit of the B200's constants lowers what is least with these; all others stay."""
    steps, _, starts, _ = shipped
    task = problem(steps, {B200: starts[B200]})
    rows = task.constants[0].rows
    at = [constants[each.name.removeprefix("b200.")] for each in task.constants]
    pinned = [
        replace(each, low=value, high=value * (1 + 1e-9))
        for each, value in zip(task.constants, at, strict=True)
    ]
    as_they_are = fit(replace(task, constants=pinned), rows)
    return as_they_are.loss - fit(task, rows).loss


def test_a_fit_finds_nothing_better_than_the_landed_constants(shipped: Shipped) -> None:
    landed = present_constants(B200)
    assert 0 <= gained(shipped, landed) < 3e-4
    assert gained(shipped, {**landed, "matrix": 0.98 * landed["matrix"]}) > 1e-3


def is_told(owner: Owner, constant: str) -> bool:
    """Whether the rows tell a constant: its file says how well. Others keep what they had."""
    has = framework_named(owner.name) if owner.is_framework else accelerator(owner.name)
    return constant in has.uncertainty


def test_files_name_the_kinds_of_steps_that_they_were_fitted_to() -> None:
    steps, _ = samples(row for row in fitted_rows() if row.mbs)
    of_type: dict[str, list[Sample]] = {}
    for step in steps:
        of_type.setdefault(step.cluster.accelerator.name, []).append(step)
    fitted = {
        name: own for name, own in of_type.items() if accelerator(name).calibration.startswith("fitted")
    }
    assert of_type.keys() - fitted.keys() == {"h200", "mi300x"}  # whose few rows tell nothing
    assert len(fitted) == 9
    assert {name: accelerator(name).fitted_kinds for name in fitted} == {
        name: kinds_of(own) for name, own in fitted.items()
    }


@pytest.mark.skipif(not NIGHTLY, reason="several seconds: DSE_NIGHTLY=1")
def test_the_landed_constants_are_to_the_last_digit_what_a_fit_finds(shipped: Shipped) -> None:
    steps, present, starts, _ = shipped
    task = problem(steps, starts)
    found = {
        each.name: float(f"{value:.3g}") for each, value in zip(task.constants, fit(task).values, strict=True)
    }
    told = [
        (f"{owner.name}.{name}", landed)
        for owner, named in present.items()
        for name, landed in named.items()
        if is_told(owner, name)
    ]
    assert len(told) >= 23
    for name, landed in told:
        assert found[name] == landed, name


@pytest.mark.parametrize("name", ["h100_hbm2e", "tpu_v6e"])
def test_a_type_fitted_by_itself_again_is_the_same_to_the_last_digit(name: str) -> None:
    """Each fit begins where the one before ended: without an end they would creep on."""
    (found,), reasons = calibrate_one(Subject.named(name), fitted_rows(), ["matrix"])
    assert not reasons
    landed = accelerator(name)
    assert found.values == {"matrix": landed.efficiency.matrix}
    assert found.uncertainty == {"matrix": landed.uncertainty["matrix"]}
    assert found.summary == landed.calibration


def test_types_with_constants_of_a_relative_have_its_present_ones() -> None:
    for name in ("h100_hbm2e", "tpu_v5p", "tpu_v6e"):
        own, other = accelerator(name).efficiency, accelerator("h100_sxm").efficiency
        assert own == replace(other, matrix=own.matrix)
        assert own.matrix != other.matrix
