"""Choices of today's recipes in predicted steps: exchanges, CUDA graphs, recomputed modules, offload."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import MixtureOfExperts, ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Prediction, predict
from tests.references.prediction.dispatch import Dispatcher
from tests.references.prediction.kernels import Kernel, Pass

EXPERTS = MixtureOfExperts(256, 8, 2048, 1, dense_layers=1)
MODEL = ModelSpec(
    "mixture",
    32000,
    32000,
    4096,
    8192,
    32,
    4096,
    64,
    8,
    gated_mlp=True,
    experts=EXPERTS,
    fidelity="realistic",
)
NODES = cluster_of_conf("dgx_h100", 2)


def predicted(model: ModelSpec = MODEL, **choices: Any) -> Prediction:
    plan = Plan(**{"dp": 16, "ep": 16, "expert_tp": 1, "zero": 1, "framework": "megatron-bridge", **choices})
    return predict(model, plan, NODES)


def test_a_token_crosses_once_to_each_node_that_has_one_of_its_experts() -> None:
    """2 nodes of 8, 4 experts of 16: of the nodes that have one, half are elsewhere."""
    links = Dispatcher(ranks=16, near=8, near_rate=1e30, far_rate=50e9, latency_s=5e-6)
    experts = MixtureOfExperts(16, 4, 1024)
    none_there = (8 * 7 * 6 * 5) / (16 * 15 * 14 * 13)
    expected = 30e-6 + 5e-6 + 2 * (1 - none_there) * 0.5 * 1e9 / 50e9
    assert links.one_way_s(1e9, experts) == pytest.approx(expected, rel=1e-12)
    assert replace(links, ranks=1).one_way_s(1e9, experts) == 0.0


def test_a_token_is_handed_once_to_each_npu_of_a_node() -> None:
    """8 NPUs of one node, top 1: 7 of 8 tokens go to another one."""
    links = Dispatcher(ranks=8, near=8, near_rate=200e9, far_rate=1.0, latency_s=2e-6)
    assert links.one_way_s(1e9, MixtureOfExperts(8, 1, 1024)) == pytest.approx(32e-6 + 7 / 8 * 1e9 / 200e9)


@given(st.integers(1, 8), st.sampled_from([8, 16, 64]))
def test_copies_never_exceed_the_experts_of_a_token(top_k: int, ranks: int) -> None:
    links = Dispatcher(ranks, 8, 1e9, 1e9, 0.0)
    once = links.one_way_s(1e9, MixtureOfExperts(64, top_k, 1024)) - 30e-6
    assert once <= top_k + 1e-9


def test_across_nodes_one_copy_is_faster_than_one_for_each_expert() -> None:
    copies, once = predicted(graphs="full"), predicted(graphs="full", dispatcher="deduplicated")
    assert once.parts_s["ep"] < 0.6 * copies.parts_s["ep"]


def test_another_micro_batch_hides_an_exchange_that_is_shorter_than_a_pass() -> None:
    exposed = predicted(graphs="full", dispatcher="deduplicated")
    hidden = predicted(graphs="full", dispatcher="deduplicated", overlap_ep=True)
    assert hidden.parts_s["ep"] < 0.2 * exposed.parts_s["ep"]
    assert hidden.peak_memory_bytes >= exposed.peak_memory_bytes


def test_graphs_take_launches_away() -> None:
    """Eager layers launch 137 kernels, and 12.6 for each of 16 experts: 71 for router and attention."""
    short = replace(MODEL, seq_len=512)
    times = [
        predicted(short, graphs=graphs).step_s for graphs in ("none", "moe_router", "attn+moe_router", "full")
    ]
    assert times == sorted(times, reverse=True)
    assert times[0] > times[1] > times[2] > times[3]


def test_what_is_recomputed_costs_time_and_saves_memory() -> None:
    found = [
        predicted(graphs="full", recompute=kind) for kind in ("none", "layernorm", "light", "moe", "full")
    ]
    assert [one.step_s for one in found] == sorted(one.step_s for one in found)
    assert found[0].peak_memory_bytes > found[2].peak_memory_bytes > found[4].peak_memory_bytes


def test_modules_that_the_model_lacks_are_refused() -> None:
    for choices, message in (
        ({"recompute": "mla_up_proj"}, "recompute has mla_up_proj, which mixture does not have"),
        (
            {"graphs": "mamba+attn", "ep": 1, "dispatcher": "deduplicated"},
            "dispatcher=deduplicated has no effect",
        ),
        ({"ep": 1, "overlap_ep": True}, "overlap_ep=true has no effect with ep 1"),
    ):
        with pytest.raises(InfeasibleStrategy, match=message):
            predicted(**choices)


def test_offloading_some_layers_lies_between_none_and_all() -> None:
    times = [
        predicted(graphs="full", offload=kind).step_s for kind in ("none", "activations-2", "activations")
    ]
    assert times == sorted(times)
    assert times[0] < times[2]


def test_experts_of_a_product_are_one_kernel() -> None:
    kernels = Pass()
    kernels.product(100, 200, 400, groups=4)
    forward = kernels.forward[0]
    assert forward == Kernel(
        "products", 1, 2.0 * 4 * 100 * 200 * 400, 4 * 2 * (100 * 400 + 200 * 400 + 100 * 200),
        1 + 140 / 100 + 96 / 200 + 96 / 400, 16, "matrix_products",
    )  # fmt: skip
