"""Notes of predictions: what their constants were fitted to, and what none of those steps had."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.accelerators import Accelerator, accelerator
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import MixtureOfExperts, ModelSpec
from dse.prediction.steps.fitted import fit_notes
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict

MODEL = ModelSpec(
    "small", 32000, 32000, 2048, 8192, 16, 4096, 64, 16, num_kv_heads=8, gated_mlp=True, fidelity="realistic"
)
EXPERTS = replace(MODEL, experts=MixtureOfExperts(8, 2, 2048))
H100 = accelerator("h100_sxm")


def ending(of: Accelerator, model: ModelSpec, **plan: object) -> str:
    """What follows the calibration in the first note."""
    first = fit_notes(of, model, Plan(**plan))[0]
    assert first.startswith(of.calibration)
    return first.removeprefix(of.calibration)


@pytest.mark.parametrize(
    ("model", "plan", "expected"),
    [
        (MODEL, {}, ""),
        (EXPERTS, {}, ", but none of these steps has experts"),
        (MODEL, {"cp": 2}, ", but none of these steps has cp > 1"),
        (EXPERTS, {"cp": 2}, ", but none of these steps has experts or cp > 1"),
        (MODEL, {"framework": "torchtitan"}, ", but none of these steps ran torchtitan"),
        (EXPERTS, {"framework": "torchtitan"}, ", but none of these steps has experts or ran torchtitan"),
    ],
)
def test_a_claim_names_what_no_fitted_step_had(
    model: ModelSpec, plan: dict[str, object], expected: str
) -> None:
    assert ending(H100, model, **plan) == expected


def test_steps_with_experts_are_claimed_where_there_are_some() -> None:
    assert ending(accelerator("b200"), EXPERTS, cp=2) == ""


def test_constants_that_are_carried_over_say_the_same_of_those_behind_them() -> None:
    assert ending(accelerator("h200"), EXPERTS) == ", and none of its steps has experts"


def test_a_framework_whose_launches_were_never_fitted_says_so() -> None:
    notes = fit_notes(H100, MODEL, Plan(framework="torchtitan-compiled"))
    assert notes[1:] == ["the launch time of torchtitan-compiled is a starting value, not fitted yet"]
    assert fit_notes(H100, MODEL, Plan())[1:] == []


def test_a_file_that_says_nothing_of_its_steps_claims_nothing_of_them() -> None:
    own = replace(H100, calibration="my own runs", fitted_kinds=())
    assert fit_notes(own, EXPERTS, Plan(cp=2)) == ["my own runs"]


def test_the_error_that_is_claimed_is_that_of_steps_that_were_left_out() -> None:
    assert "mean error 9.0 % with each source left out, 3.5 % as fitted" in H100.calibration


def test_predictions_carry_these_notes() -> None:
    found = predict(EXPERTS, Plan(dp=8), cluster_of_conf("dgx_h100", 1))
    assert found.notes == (f"{H100.calibration}, but none of these steps has experts",)
