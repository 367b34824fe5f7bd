"""Notes of predictions: their interval, and whose constants an accelerator has that was never measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.accelerators import accelerator
from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import MixtureOfExperts, ModelSpec
from dse.prediction.intervals.interval import Interval
from dse.prediction.intervals.kinds import Kind
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import fit_notes, predict

MODEL = ModelSpec(
    "small", 32000, 32000, 2048, 8192, 16, 4096, 64, 16, num_kv_heads=8, gated_mlp=True, fidelity="realistic"
)
EXPERTS = replace(MODEL, experts=MixtureOfExperts(8, 2, 2048))
H100 = accelerator("h100_sxm")
KIND = Kind("h100_sxm", 16, "dense", False, "megatron-core", "1 to 8")
KNOWN = Interval(KIND, 0.9, 1.2, 3, "41 rows", knows_accelerator=True)
SAID = "80 % of measured steps lie -10 to +20 % from the predicted time: 41 rows"


def test_the_first_note_is_the_interval() -> None:
    assert fit_notes(H100, Plan(), KNOWN) == [SAID]


def test_constants_are_explained_where_no_run_had_the_accelerator() -> None:
    own = replace(H100, calibration="fitted to my own runs")
    assert fit_notes(own, Plan(), replace(KNOWN, knows_accelerator=False)) == [SAID, "fitted to my own runs"]
    assert fit_notes(own, Plan(), None) == ["fitted to my own runs"]


def test_constants_of_the_user_are_explained_whatever_the_interval() -> None:
    own = replace(H100, calibration="calibrated on your cluster: links by all_reduce_perf.txt")
    assert fit_notes(own, Plan(), KNOWN) == [SAID, own.calibration]


def test_a_framework_whose_launches_were_never_fitted_says_so() -> None:
    notes = fit_notes(H100, Plan(framework="torchtitan-compiled"), KNOWN)
    assert notes[1:] == ["the launch time of torchtitan-compiled is a starting value, not fitted yet"]


@pytest.mark.parametrize(
    ("model", "plan", "kind"),
    [
        (MODEL, Plan(dp=8), KIND),
        (EXPERTS, Plan(dp=8, ep=8), KIND._replace(blocks="experts")),
        (MODEL, Plan(dp=4, cp=2, precision="fp8"), KIND._replace(context=True, bits=8)),
    ],
)
def test_predictions_carry_the_interval_of_their_kind(model: ModelSpec, plan: Plan, kind: Kind) -> None:
    found = predict(model, plan, cluster_of_conf("dgx_h100", 1))
    assert found.interval is not None
    assert found.interval.kind == kind
    assert found.notes[0] == found.interval.note
    assert found.range_s == (found.step_s * found.interval.low, found.step_s * found.interval.high)


def test_experts_of_a_group_that_leaves_the_node_are_a_kind_of_their_own() -> None:
    cluster = cluster_of_conf("dgx_h100", 2)
    inside = predict(EXPERTS, Plan(dp=16, ep=8), cluster).interval
    across = predict(EXPERTS, Plan(dp=8, tp=2, ep=8, expert_tp=2), cluster).interval
    assert inside is not None
    assert across is not None
    assert (inside.kind.blocks, across.kind.blocks) == ("experts", "experts across nodes")
