"""What is infeasible always, and what merely does not divide."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import (
    InfeasibleStrategy,
    Strategy,
    broken_units,
    check,
    indivisible,
    is_feasible,
    require_divisible,
    resolved_divisibility,
)

LLAMA = ModelSpec("llama70b", 32000, 32000, 8192, 28672, 64, 1024, 512, 80)
GPT = ModelSpec("gpt175b", 50257, 50257, 12288, 49152, 96, 1024, 512, 96)


def test_more_stages_than_blocks_are_infeasible() -> None:
    check(LLAMA, Strategy(pp=82))
    with pytest.raises(InfeasibleStrategy) as caught:
        check(LLAMA, Strategy(pp=90))
    assert str(caught.value) == (
        "strategy.pp is 90: more pipeline stages (90) than blocks (82: 80 layers and 2 embeddings), "
        "so a stage would own no operator; pp must be at most 82"
    )
    assert isinstance(caught.value, InputError)


@pytest.mark.parametrize("axis", ["dp", "tp", "sp", "pp"])
@pytest.mark.parametrize("degree", [0, -4])
def test_degrees_below_one_are_infeasible(axis: str, degree: int) -> None:
    with pytest.raises(InfeasibleStrategy, match=rf"strategy\.{axis} is {degree}; it must be at least 1"):
        check(LLAMA, replace(Strategy(), **{axis: degree}))  # type: ignore[arg-type]


def test_the_lab_divides_llama_but_not_the_vocabulary_of_gpt() -> None:
    assert indivisible(LLAMA, Strategy(4, 4, 4)) == []
    assert indivisible(GPT, Strategy(8, 1, 8)) == []
    assert indivisible(GPT, Strategy(tp=8)) == [
        "tp 8 does not divide input_dim 50257 (nearest multiples of 8: 50256, 50264)",
        "tp 8 does not divide output_dim 50257 (nearest multiples of 8: 50256, 50264)",
    ]


@pytest.mark.parametrize(
    ("strategy", "model", "reason"),
    [
        (Strategy(dp=3), {}, "dp 3 does not divide batch_size 512 (nearest multiples of 3: 510, 513)"),
        (Strategy(sp=3), {}, "sp 3 does not divide seq_len 1024 (nearest multiples of 3: 1023, 1026)"),
        (Strategy(tp=128), {}, "tp 128 does not divide num_heads 64 (nearest multiples of 128: 128)"),
        (
            Strategy(),
            {"num_heads": 7},
            "num_heads 7 does not divide d_model 8192 (nearest multiples of 7: 8190, 8197)",
        ),
        (Strategy(tp=2), {"d_ff": 3}, "tp 2 does not divide d_ff 3 (nearest multiples of 2: 2, 4)"),
        (Strategy(tp=2), {"input_dim": 3}, "tp 2 does not divide input_dim 3 (nearest multiples of 2: 2, 4)"),
        (
            Strategy(tp=2),
            {"output_dim": 3},
            "tp 2 does not divide output_dim 3 (nearest multiples of 2: 2, 4)",
        ),
        (
            Strategy(dp=2, sp=2, weight_sharded=True),
            {"input_dim": 6},
            "dp*sp 4 does not divide input_dim 6 (nearest multiples of 4: 4, 8)",
        ),
        (
            Strategy(dp=2, sp=2, weight_sharded=True),
            {"d_model": 6, "num_heads": 1, "d_ff": 8},
            "dp*sp 4 does not divide d_model 6 (nearest multiples of 4: 4, 8)",
        ),
        (
            Strategy(dp=4, weight_sharded=True),
            {"d_model": 6, "num_heads": 1},
            "dp 4 does not divide d_model 6 (nearest multiples of 4: 4, 8)",
        ),
        (
            Strategy(sp=256, weight_sharded=True),
            {},
            "sp 256 does not divide d_model/num_heads 128 (nearest multiples of 256: 256)",
        ),
    ],
)
def test_each_condition_names_both_numbers_and_the_nearest_sizes(
    strategy: Strategy, model: dict[str, int], reason: str
) -> None:
    assert reason in indivisible(replace(LLAMA, **model), strategy)  # type: ignore[arg-type]


def test_sharded_weights_add_conditions_of_their_own() -> None:
    model = replace(LLAMA, input_dim=6)
    assert indivisible(model, Strategy(dp=2, sp=2)) == []
    assert len(indivisible(model, Strategy(dp=2, sp=2, weight_sharded=True))) == 1


@given(
    st.builds(Strategy, *[st.integers(1, 6)] * 4, st.booleans(), st.booleans()),
    st.lists(st.integers(1, 60), min_size=7, max_size=7),
)
def test_there_is_a_reason_exactly_if_a_shard_is_fractional(strategy: Strategy, sizes: list[int]) -> None:
    model = ModelSpec("any", *sizes, num_layers=2)  # type: ignore[misc]
    dp, tp, sp = strategy.dp, strategy.tp, strategy.sp
    quotients = [
        (model.batch_size, dp),
        (model.seq_len, sp),
        (model.num_heads, tp),
        (model.d_model, model.num_heads),
        (model.d_ff, tp),
        (model.input_dim, tp),
        (model.output_dim, tp),
    ]
    if strategy.weight_sharded:
        quotients += [
            (model.input_dim, dp * sp),
            (model.d_model, dp * sp),
            (model.d_model, dp),
            (model.d_model, model.num_heads * sp),
        ]
    assert bool(indivisible(model, strategy)) == any(size % divisor for size, divisor in quotients)


GPT_TP_8 = Strategy(dp=4, tp=8, weight_sharded=True)
SEVEN = replace(LLAMA, batch_size=7)


def test_what_no_program_can_split_is_told_from_widths_that_programs_pad() -> None:
    assert broken_units(GPT, GPT_TP_8) == []
    assert len(indivisible(GPT, GPT_TP_8)) == 3
    assert broken_units(SEVEN, Strategy(dp=4)) == [
        "dp 4 does not divide batch_size 7 (nearest multiples of 4: 4, 8)"
    ]
    assert broken_units(LLAMA, Strategy(tp=128)) == [
        "tp 128 does not divide num_heads 64 (nearest multiples of 128: 128)"
    ]


@pytest.mark.parametrize(
    ("model", "strategy", "reason"),
    [
        ({"batch_size": 7}, Strategy(dp=4), "dp 4 does not divide batch_size 7"),
        ({"micro_batches": 8}, Strategy(512), "dp*micro_batches 4096 does not divide batch_size 512"),
        ({"num_layers": 80}, Strategy(pp=64), "pp 64 does not divide num_layers 80"),
        ({"seq_len": 1000}, Strategy(sp=16), "sp 16 does not divide seq_len 1000"),
        ({"num_kv_heads": 8}, Strategy(tp=16), "tp 16 does not divide num_kv_heads 8"),
    ],
)
def test_a_realistic_model_refuses_what_no_program_can_split(
    model: dict[str, int], strategy: Strategy, reason: str
) -> None:
    realistic = replace(LLAMA, fidelity="realistic", **model)  # type: ignore[arg-type]
    default = resolved_divisibility(realistic, None)
    assert default == "whole"
    with pytest.raises(InfeasibleStrategy, match=re.escape(f"model.fidelity=realistic: {reason} (nearest")):
        require_divisible(realistic, strategy, default)
    assert not is_feasible(realistic, strategy, default)
    assert is_feasible(realistic, strategy, resolved_divisibility(realistic, "stage"))


def test_a_realistic_model_pads_its_vocabulary_unless_strict() -> None:
    realistic = replace(GPT, fidelity="realistic")
    assert is_feasible(realistic, GPT_TP_8, "whole")
    assert not is_feasible(realistic, GPT_TP_8, "strict")


def test_the_reference_cuts_everything_and_has_stages_of_any_number_of_layers() -> None:
    assert resolved_divisibility(SEVEN, None) == "stage"
    assert is_feasible(SEVEN, Strategy(dp=4), "stage")
    assert is_feasible(LLAMA, Strategy(pp=64), "strict")
