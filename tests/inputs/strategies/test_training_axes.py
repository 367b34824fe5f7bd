"""Axes of training plans beside the older ones: kinds, labels, tables, and traces that refuse them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import (
    AXIS,
    DEGREES,
    InfeasibleStrategy,
    Strategy,
    check,
    check_values,
    shown_axes,
    strategy_values,
)
from dse.inputs.strategies.axes import axes_of, count
from dse.prediction.steps.plan import Plan

TINY = ModelSpec("tiny", 128, 128, 64, 256, 4, 32, 16, 4)


def test_older_strategies_are_written_and_labelled_as_before() -> None:
    old = Strategy(8, 2, 1, 4, True, True)
    assert old.label() == "dp8 tp2 sp1 pp4 fsdp recompute"
    assert (old.npus, old.cp, old.beyond_traces()) == (64, 1, [])


def test_labels_have_what_is_not_the_default() -> None:
    plan = Strategy(
        dp=2,
        tp=4,
        cp=2,
        micro_batch=3,
        schedule="interleaved",
        chunks=2,
        zero=0,
        sequence_parallel=True,
        recompute="full",
        overlap_dp=False,
        offload="optimizer",
        order="dp-tp-cp-ep-pp",
    )
    assert plan.label() == (
        "dp2 tp4 sp1 pp1 cp2 mb3 interleaved vp2 zero0 seq-par full-recompute no-overlap-dp "
        "offload-optimizer dp-tp-cp-ep-pp"
    )


def test_context_parallelism_multiplies_npus_and_expert_parallelism_does_not() -> None:
    assert Strategy(dp=2, tp=2, cp=4).npus == 16
    assert Strategy(dp=2, tp=2, ep=4).npus == 4
    assert DEGREES == ("dp", "tp", "sp", "pp", "cp")


def test_a_plan_has_the_defaults_of_a_strategy_but_for_the_micro_batch() -> None:
    assert strategy_values(replace(Plan(), micro_batch=0)) == strategy_values(Strategy())


def test_tables_have_columns_for_younger_axes_only_where_they_matter() -> None:
    older = ["dp", "tp", "sp", "pp", "weight_sharded", "activation_recompute"]
    assert [axis.name for axis in shown_axes([strategy_values(Strategy(dp=4))])] == older
    mixed = [strategy_values(Strategy(dp=4)), strategy_values(Strategy(dp=2, cp=2, schedule="gpipe"))]
    assert [axis.name for axis in shown_axes(mixed)] == [*older[:4], "cp", *older[4:], "schedule"]
    assert [axis.name for axis in shown_axes([])] == older


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"cp": 2}, "strategy.cp=2: only the predictor knows that: use the system of a cluster"),
        (
            {"schedule": "gpipe", "overlap_dp": False},
            "strategy.schedule=gpipe, strategy.overlap_dp=False: only",
        ),
    ],
)
def test_traces_refuse_what_only_the_predictor_knows(changes: dict[str, object], named: str) -> None:
    check(TINY, Strategy(dp=4))
    with pytest.raises(InfeasibleStrategy, match=named):
        check(TINY, Strategy(**changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schedule": "1f2b"},
            "strategy.schedule is '1f2b'; it must be one of 1f1b, gpipe, interleaved, v-half",
        ),
        (
            {"precision": "fp9"},
            "it must be one of bf16, fp16, fp8, fp4, fp8_delayed, fp8_block, mxfp8; did you mean",
        ),
        ({"zero": 3}, "strategy.zero is 3; it must be an integer from 0 to 2"),
        ({"micro_batch": -1}, "strategy.micro_batch is -1; it must be an integer from 0 to 2147483647"),
        ({"chunks": 0}, "strategy.chunks is 0; it must be an integer from 1"),
        ({"overlap_tp": 1}, "strategy.overlap_tp is 1; it must be true or false"),
        (
            {"stages": "7-"},
            "lighter-last, lighter-ends, balanced, or the layers of each part in the order of",
        ),
        ({"framework": "megatron"}, "it must be one of megatron-core, llm-foundry, maxtext, megatron-bridge"),
        ({"order": "tp-dp"}, "it must be one of tp-cp-ep-dp-pp, tp-cp-ep-pp-dp, "),
    ],
)
def test_values_that_an_axis_does_not_have_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InfeasibleStrategy) as caught:
        check_values(Strategy(**changes))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_stages_may_be_a_list_of_layers_too() -> None:
    axis = AXIS["stages"]
    assert [axis.accepts(text) for text in ("7-9-9-7", "7-9x14-7", "8x4", "spread")] == [True] * 4
    assert [axis.accepts(text) for text in ("", "-7", "7x", "7,9", "12345", 7)] == [False] * 6
    assert Strategy(pp=4, stages="7-9x2-7").label() == "dp1 tp1 sp1 pp4 7-9x2-7-stages"


def test_frameworks_are_the_files_of_conf() -> None:
    from dse.prediction.steps.frameworks import framework_names

    assert sorted(AXIS["framework"].choices) == list(framework_names())
    assert AXIS["framework"].default == Plan().framework


def test_every_default_is_a_value_of_its_axis() -> None:
    check_values(Strategy())
    assert AXIS["order"].accepts("pp-dp-ep-cp-tp")
    assert len(AXIS["order"].choices) == 120


def test_degrees_stand_before_the_other_axes() -> None:
    from dataclasses import dataclass

    from dse.inputs.strategies.axes import degree

    @dataclass(frozen=True)
    class Wrong:
        chunks: int = count("vp", "chunks", since=2)
        dp: int = degree("degree")

    with pytest.raises(TypeError, match="degrees come first"):
        axes_of(Wrong)
