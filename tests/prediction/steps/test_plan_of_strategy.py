"""A strategy becomes a plan: what is filled in, and what is refused because nothing follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.inputs.models import ModelSpec, Repairs
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, InfeasibleStrategy, Strategy, strategy_values
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.strategies import plan_of

MODEL = ModelSpec("small", 1024, 1024, 64, 256, 4, 128, 96, 4, fidelity="realistic")


def test_a_bare_strategy_is_the_plan_of_the_same_degrees() -> None:
    assert plan_of(MODEL, Strategy(dp=4, tp=2, pp=2, cp=2)) == Plan(dp=4, tp=2, pp=2, cp=2)


def test_names_that_both_have_mean_the_same() -> None:
    plan = plan_of(
        MODEL,
        Strategy(
            tp=2, pp=2, micro_batch=3, schedule="interleaved", chunks=2, zero=0, sequence_parallel=True,
            recompute="selective", recompute_layers=1, precision="fp8", overlap_tp=True, overlap_dp=False,
            offload="optimizer", order="pp-dp-ep-cp-tp", ep=2, expert_tp=1,
        ),
    )  # fmt: skip
    assert plan == Plan(
        tp=2, pp=2, micro_batch=3, schedule="interleaved", chunks=2, zero=0, sequence_parallel=True,
        recompute="selective", recompute_layers=1, precision="fp8", overlap_tp=True, overlap_dp=False,
        offload="optimizer", order="pp-dp-ep-cp-tp", ep=2, expert_tp=1,
    )  # fmt: skip


def test_sharded_weights_are_the_third_stage_of_zero() -> None:
    assert plan_of(MODEL, Strategy(dp=4, weight_sharded=True)).zero_stage == 3


@pytest.mark.parametrize("kind", ["selective", "full"])
def test_activation_recompute_is_of_the_kind_that_the_model_names(kind: str) -> None:
    model = replace(MODEL, repairs=Repairs(recompute=kind))
    assert plan_of(model, Strategy(activation_recompute=True)).recompute == kind
    assert plan_of(model, Strategy()).recompute == "none"


@pytest.mark.parametrize(
    ("micro_batches", "micro_batch", "expected"), [(None, 0, 1), (None, 4, 4), (8, 0, 3), (8, 3, 3)]
)
def test_the_micro_batch_is_given_or_follows_from_the_number_of_them(
    micro_batches: int | None, micro_batch: int, expected: int
) -> None:
    model = replace(MODEL, micro_batches=micro_batches)
    assert plan_of(model, Strategy(dp=4, micro_batch=micro_batch)).micro_batch == expected


def test_zb_v_has_two_chunks_by_itself() -> None:
    assert plan_of(MODEL, Strategy(pp=2, schedule="zb-v")).chunks == 2


def test_stages_are_a_rule_or_the_layers_that_a_text_lists() -> None:
    assert plan_of(MODEL, Strategy(pp=2, stages="spread")).stages == "spread"
    listed = plan_of(MODEL, Strategy(pp=4, stages="7-9x2-7"))
    assert (listed.stages, listed.layers_per_stage) == ("7-9x2-7", (7, 9, 9, 7))


def test_the_framework_is_that_of_the_plan() -> None:
    assert plan_of(MODEL, Strategy(framework="torchtitan")).framework == "torchtitan"


REFUSED = [
    ({"stages": "spread"}, "strategy.stages=spread: pp is 1"),
    ({"stages": "7-9"}, "strategy.stages=7-9: pp is 1"),
    ({"sp": 4}, "strategy.sp is 4, which is STAGE's sequence parallelism; write strategy.cp=4"),
    ({"weight_sharded": True, "zero": 2}, "strategy.zero=2: with weight_sharded it is 3"),
    ({"shard_ranks": 2, "dp": 4}, "strategy.shard_ranks=2: weights are not sharded"),
    ({"chunks": 2, "pp": 2}, "strategy.chunks=2: schedule=1f1b has one"),
    ({"chunks": 2, "pp": 2, "schedule": "zb-v"}, "strategy.chunks=2: schedule=zb-v has 2"),
    ({"schedule": "gpipe"}, "strategy.schedule=gpipe: pp is 1"),
    ({"sequence_parallel": True}, "strategy.sequence_parallel=true: tp is 1"),
    ({"overlap_tp": True}, "strategy.overlap_tp=true: tp is 1"),
    ({"context": "ulysses"}, "strategy.context=ulysses: cp is 1"),
    ({"recompute_layers": 2}, "strategy.recompute_layers=2: nothing is recomputed"),
    ({"recompute": "full", "activation_recompute": True}, "strategy.activation_recompute says it too"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_changes_nothing_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InfeasibleStrategy) as caught:
        plan_of(MODEL, Strategy(**changes))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_numbers_of_micro_batches_that_do_not_come_out_are_refused() -> None:
    model = replace(MODEL, micro_batches=8)
    with pytest.raises(InfeasibleStrategy, match=r"dp\*micro_batches 40 does not divide batch_size 96"):
        plan_of(model, Strategy(dp=5))
    with pytest.raises(InfeasibleStrategy, match=r"micro_batch is 2, but model\.micro_batches=8 makes it 3"):
        plan_of(model, Strategy(dp=4, micro_batch=2))


def _values(axis: str) -> st.SearchStrategy[object]:
    about = next(each for each in AXES if each.name == axis)
    if about.kind == "choice":
        return st.sampled_from(about.choices)
    return st.booleans() if about.kind == "flag" else st.integers(about.least, min(about.most, 4))


@given(st.fixed_dictionaries({axis.name: _values(axis.name) for axis in AXES}))
def test_a_plan_can_be_written_as_a_strategy_again(values: dict[str, object]) -> None:
    """Two words for recomputation, and defaults that are filled in, aside."""
    strategy = Strategy(**values)  # type: ignore[arg-type]
    try:
        plan = plan_of(MODEL, strategy)
    except InfeasibleStrategy:
        return
    assert plan.npus == strategy.npus
    again = Strategy(
        **{
            **dict(zip(STRATEGY_FIELDS, strategy_values(plan), strict=True)),
            "chunks": plan.chunks if plan.schedule == "interleaved" else 1,
        }
    )
    assert plan_of(MODEL, again) == plan
