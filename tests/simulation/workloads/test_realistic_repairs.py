"""Each repair alone changes what it should and nothing else; together they make sound workloads."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from repairs import SMALL, counts, nodes_of, realistic, simulated, switched_on, tensors, with_only

from dse.base.errors import InputError
from dse.inputs.models import REPAIRS, ModelSpec, Repairs
from dse.inputs.strategies import InfeasibleStrategy, Strategy
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import StageGenerator, generate, workload_of
from dse.studies.config import compose_config
from dse.testing.builders import attribute, parse, system

ALL_AXES = Strategy(2, 2, 2, weight_sharded=True)
REPLICATED = Strategy(2, 2, 2, activation_recompute=True)
PIPELINE = Strategy(dp=2, pp=2)
SLOW: dict[str, Any] = {"memory_bandwidth_gbps": 1, "peak_tflops": 0.1}  # no node takes less than 1 ns
WEIGHTS = 32768  # of SMALL as STAGE has it: 4 layers of 3 * 32 * 32 + 2 * 32 * 64, two embeddings of 64 * 32
STAGE_FIGURES = {
    ALL_AXES: (160, 205, 0, 3_657_728, 601_088, 175_104, 56_320),
    REPLICATED: (180, 157, 0, 4_390_912, 730_112, 184_320, 38_912),
    PIPELINE: (80, 11, 5, 7_323_648, 987_136, 57_344, 139_264),
}
FIGURES = ("comp", "coll", "send", "num_ops", "tensor_size", "comm_bytes", "peak")


def figures(model: ModelSpec, strategy: Strategy) -> dict[str, int]:
    """What the trace of rank 0 sums to, and its peak memory."""
    peak = simulated(model, strategy, **SLOW).classes[0]
    assert peak is not None
    assert peak.peak_memory_bytes is not None
    found = counts(model, strategy) | {"peak": peak.peak_memory_bytes}
    return {key: found[key] for key in FIGURES}


def changes(strategy: Strategy, **repairs: Any) -> dict[str, int]:
    before = dict(zip(FIGURES, STAGE_FIGURES[strategy], strict=True))
    after = figures(with_only(SMALL, **repairs), strategy)
    return {key: after[key] - before[key] for key in FIGURES if after[key] != before[key]}


@pytest.mark.parametrize("strategy", STAGE_FIGURES, ids=Strategy.label)
def test_the_reference_that_the_changes_count_from(strategy: Strategy) -> None:
    found = figures(SMALL, strategy)
    assert tuple(found.values()) == STAGE_FIGURES[strategy]


# With all axes 2 and FSDP: B = S = 8, m = 16, h = 4 (g = 2 with grouped queries) of d = 4, f = o = i = 32.
ALONE: dict[str, dict[str, int]] = {
    "bytes_per_element": {"tensor_size": 601_088, "comm_bytes": 175_104, "peak": 56_320},
    "multiply_add_as_two": {"num_ops": 3_538_944},
    "block_shapes": {
        "comp": 8 * 4,  # x3, act, dx1 and dx3, dw3, dx03, dx013, and the update of w3
        "coll": 24,
        "num_ops": 524_800,
        "tensor_size": 130_560,
        "comm_bytes": 12_288,
        "peak": 12_800,
    },
    "output_projection": {  # proj, d_context, d_wo, update
        "comp": 4 * 4,
        "coll": 28,
        "num_ops": 4 * (3 * 8 * 8 * 32 * 16 + 32 * 32 // 8),
        "tensor_size": 44_544,
        "comm_bytes": 21_504,
        "peak": 4_608,
    },
    "nonlinear_operators": {  # softmax, two dropouts, activation and dropout; five backward
        "comp": 10 * 4,
        "num_ops": 4 * (12 * 8 * 16 * 8 * 4 + 10 * 8 * 8 * 32 + 4 * 8 * 8 * 16),
        "tensor_size": 278_528,
        "peak": 57_344,
    },
    "loss": {"comp": 1, "num_ops": 5 * 8 * 8 * 32, "tensor_size": 2 * 8 * 8 * 32},
    "embedding_lookup": {
        "comp": -1,
        "coll": -3,
        "num_ops": 2 * 8 * 8 * 16 - 3 * 8 * 8 * 64 * 16,
        "tensor_size": -13_824,
        "comm_bytes": -4_352,
        "peak": -1_792,
    },
    "no_input_gradient": {
        "comp": -1,
        "coll": -1,
        "num_ops": -8 * 8 * 64 * 16,
        "tensor_size": -(8 * 8 * 16 + 64 * 16 + 8 * 8 * 64),
        "comm_bytes": -64 * 16 // 4,
    },
    "optimizer_state": {  # 14 operations for 1; 12 bytes read and written
        "num_ops": 13 * WEIGHTS // 8,
        "tensor_size": 24 * WEIGHTS // 8,
        "peak": 49_408,
    },
    # The sp half of 3 gathers and a scatter in each feed-forward, 2 gathers and a scatter in each embedding.
    "consistent_sharding": {"coll": 20, "comm_bytes": 5_120},
    "just_in_time_gathers": {"peak": 3_072},
    "shared_gathers": {"coll": -36, "num_ops": 8_192, "tensor_size": 24_576, "comm_bytes": -49_152},
    "contiguous_stages": {},
    "recompute": {},
}


@pytest.mark.parametrize("key", REPAIRS)
def test_each_repair_alone_changes_what_it_should_and_nothing_else(key: str) -> None:
    assert changes(ALL_AXES, **switched_on(key)) == ALONE[key]


@pytest.mark.parametrize("key", ["consistent_sharding", "just_in_time_gathers", "contiguous_stages"])
def test_without_sharded_weights_and_stages_there_is_nothing_to_repair(key: str) -> None:
    assert changes(REPLICATED, **switched_on(key)) == {}


def test_optimizer_state_is_12_bytes_a_weight_beside_the_gradients() -> None:
    assert changes(REPLICATED, **switched_on("optimizer_state")) == {
        "num_ops": 13 * WEIGHTS // 2,
        "tensor_size": 24 * WEIGHTS // 2,
        "peak": 204_288,
    }


@pytest.mark.parametrize(
    ("recompute", "expected"),
    [
        ("stage", {}),
        # Without q, k, v and the first feed-forward product: their gathers and products.
        ("selective", {"comp": -16, "coll": -16, "num_ops": -4 * (3 * 8 * 8 * 32 * 16 + 8 * 8 * 32 * 32)}),
    ],
)
def test_recompute_says_what_is_computed_again(recompute: str, expected: dict[str, int]) -> None:
    found = changes(REPLICATED, recompute=recompute)
    assert {key: found[key] for key in ("comp", "coll", "num_ops") if key in found} == expected


def test_full_recompute_is_one_more_forward_pass() -> None:
    """Without the embeddings and the last operator: 4/3 of the products of the layers."""
    model = realistic(replace(SMALL, seq_len=64, d_model=512, d_ff=2048, num_layers=8), recompute="full")
    once, twice = (counts(model, Strategy(activation_recompute=used))["num_ops"] for used in (False, True))
    assert twice / once == pytest.approx(4 / 3, rel=0.03)


def test_contiguous_stages_send_once_a_boundary_and_pass() -> None:
    found = changes(PIPELINE, contiguous_stages=True)
    assert {key: found[key] for key in ("send", "comm_bytes")} == {
        "send": -4,
        "comm_bytes": -4 * 8 * 16 * 32 * 2,
    }
    assert "num_ops" not in found
    ranks = [nodes_of(with_only(SMALL, contiguous_stages=True), PIPELINE, rank) for rank in (0, 2)]
    layers = [{name.split("_")[1] for name in nodes if name.startswith("stack_")} for nodes in ranks]
    assert layers == [{"0", "1"}, {"2", "3"}]


def test_micro_batches_divide_the_work_and_keep_its_sum() -> None:
    one, four = (
        replace(with_only(SMALL, contiguous_stages=True, multiply_add_as_two=True), micro_batches=m)
        for m in (1, 4)
    )
    whole, parts = (counts(model, PIPELINE) for model in (one, four))
    sums = 3 * WEIGHTS // 2  # three additions of gradients
    assert parts["num_ops"] == whole["num_ops"] + sums
    assert parts["comm_bytes"] == whole["comm_bytes"]
    assert parts["send"] == 4 * whole["send"]


def test_gathers_happen_one_block_ahead_into_memory_of_their_own() -> None:
    nodes = nodes_of(realistic(SMALL), ALL_AXES)
    by_id = {node["id"]: name for name, node in nodes.items()}
    gathers = [n for n in nodes.values() if n["name"] == "stack_2_mha_wq_all@0_X1COMM"]
    every = [n for n in parse(generate(realistic(SMALL), ALL_AXES))[0] if "stack_2_mha_wq_all@0" in n["name"]]
    assert [attribute(node, "comm_size") for node in every] == [2 * 32 * 16 // 4, 2 * 32 * 16 // 2]
    assert [list(tensors(node, "outputs").values()) for node in every] == [[], [2 * 32 * 16]]
    assert [by_id[dep] for dep in every[0]["ctrl_deps"]] == ["stack_1_mha_norm@0_COMP"]  # where ffn 1 begins
    assert len(gathers) == 1


# Properties of any mix of repairs.


@st.composite
def mixes(draw: st.DrawFn) -> tuple[ModelSpec, Strategy]:
    switches: dict[str, Any] = {key: draw(st.booleans()) for key in REPAIRS}
    switches["bytes_per_element"] = draw(st.integers(1, 4))
    switches["recompute"] = draw(st.sampled_from(("stage", "selective", "full")))
    micro_batches = draw(st.sampled_from((1, 2, 4))) if switches["contiguous_stages"] else 1
    model = replace(
        SMALL, num_layers=draw(st.integers(2, 4)), micro_batches=micro_batches, repairs=Repairs(**switches)
    )
    two = st.sampled_from((1, 2))
    strategy = Strategy(
        draw(two), draw(two), draw(two), draw(st.integers(1, 3)), draw(st.booleans()), draw(st.booleans())
    )
    assume(2 <= strategy.npus <= 16 and strategy.pp <= model.num_layers)
    return model, strategy


PROPERTY = settings(max_examples=40)


@PROPERTY
@given(mixes())
def test_a_mix_of_repairs_runs_to_its_end_the_same_by_classes_and_rank_by_rank(
    mix: tuple[ModelSpec, Strategy],
) -> None:
    model, strategy = mix
    on = system(f"Ring {strategy.npus} @100/50", track_local_memory=True, **SLOW)
    work = generate(model, strategy, divisibility="strict")
    by_classes, by_ranks = (NativeSimulator(engine).simulate(work, on) for engine in ("auto", "general"))
    assert by_classes.status == by_ranks.status == "ok"
    assert by_classes.classes == by_ranks.classes
    groups = {name: list(members) for name, members in json.loads(work.groups_json()).items()}
    traces = [work.trace_bytes(rank) for rank in range(strategy.npus)]
    again = NativeSimulator().simulate(workload_of(traces, groups), on)
    finish = [by_classes.classes[c] for c in by_classes.class_of_rank]
    assert [again.classes[c] for c in again.class_of_rank] == finish


@PROPERTY
@given(mixes())
def test_names_are_unique_and_what_is_written_is_read(mix: tuple[ModelSpec, Strategy]) -> None:
    model, strategy = mix
    for nodes in parse(generate(model, strategy)):
        assert len({node["id"] for node in nodes}) == len(nodes)
        written = Counter(tensor for node in nodes for tensor in tensors(node, "outputs"))
        assert set(written.values()) <= {1}
        read = {tensor for node in nodes for tensor in tensors(node, "inputs")}
        if model.resolved_repairs.nonlinear_operators and model.resolved_repairs.recompute != "stage":
            left = {
                tensor.partition("@")[0] for tensor in written if "@1" not in tensor and tensor not in read
            }
            assert {name.rpartition("_")[2] for name in left} <= {"dx", "norm", "y"}


@PROPERTY
@given(mixes())
def test_operations_do_not_depend_on_how_memory_is_modelled(mix: tuple[ModelSpec, Strategy]) -> None:
    model, strategy = mix
    other = replace(model, repairs=replace(model.repairs, bytes_per_element=3, just_in_time_gathers=False))
    assert counts(model, strategy)["num_ops"] == counts(other, strategy)["num_ops"]


# Refusals.


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.fidelity=real", r"model\.fidelity is 'real'; allowed are stage, realistic"),
        ("model.repairs.loss=maybe", r"model\.repairs\.loss is 'maybe'; it must be"),
        (
            "model.repairs.bytes_per_element=0",
            r"model\.repairs\.bytes_per_element is 0; it must be an integer",
        ),
        (
            "model.repairs.recompute=ful",
            r"recompute is 'ful'; allowed are stage, selective, full.*did you mean",
        ),
        (
            "model.repairs.dropout=true",
            r"unknown key model\.repairs\.dropout; did you mean 'recompute'. Keys of model\.repairs are b",
        ),
        ("model.num_kv_heads=3", r"model\.num_kv_heads is 3; it must divide model\.num_heads, 64"),
        ("model.num_kv_heads=0", r"model\.num_kv_heads is 0; it must be an integer from 1"),
        ("model.micro_batches=2", r"micro_batches is 2; with stages that go round robin it must be 1: write"),
        ("model.micro_batches=3", r"micro_batches is 3; it must divide model\.batch_size, 512"),
    ],
)
def test_a_wrong_value_is_named(override: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compose_config([override])


def test_a_checkout_of_stage_repairs_nothing(tmp_path: Any) -> None:
    with pytest.raises(InputError, match=r"workload\.name is 'stage'.* write workload=native"):
        compose_config(["workload=stage", f"workload.checkout={tmp_path}", "model.fidelity=realistic"])
    with pytest.raises(InputError, match=r"use model\.fidelity=stage"):
        StageGenerator(tmp_path).generate(realistic(SMALL), Strategy(), "stage")


def test_contiguous_stages_need_a_layer_each() -> None:
    with pytest.raises(InfeasibleStrategy, match=r"pp is 5: contiguous stages .* at most 4"):
        generate(realistic(SMALL), Strategy(pp=5))


def test_shards_of_heads_and_micro_batches_must_divide_under_strict() -> None:
    with pytest.raises(InfeasibleStrategy, match=r"tp 8 does not divide num_kv_heads 4"):
        generate(realistic(SMALL), Strategy(tp=8), divisibility="strict")
    assert not generate(with_only(SMALL), Strategy(tp=8)).is_fractional
    with pytest.raises(InfeasibleStrategy, match=r"dp\*micro_batches 32 does not divide batch_size 16"):
        generate(replace(realistic(SMALL), micro_batches=16), Strategy(dp=2), divisibility="strict")


def test_micro_batches_default_to_four_a_stage_as_far_as_they_divide() -> None:
    model = replace(realistic(SMALL), batch_size=24)
    assert [model.micro_batches_on(dp, pp) for dp, pp in ((1, 1), (1, 2), (1, 4), (2, 4), (8, 4))] == [
        1,
        8,
        12,
        12,
        3,
    ]
    assert with_only(SMALL).micro_batches_on(1, 4) == 1
