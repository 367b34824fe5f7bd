"""Memory of a training step: published closed forms and figures."""

from __future__ import annotations

import pytest

from dse.inputs.accelerators import Accelerator, Cluster, Efficiency, Tier
from dse.inputs.models import ModelSpec
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from tests.references.prediction.activations import layer_activations
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.weights import layer_weights

GIB = 2**30

# Korthikanti et al. 2022, figure 1: GiB of weights, gradients and optimiser; of activations without recompute
# and with selective recompute and sequence parallelism; tensor parallelism of 8.
FIGURE_1 = {
    "22B": ((6144, 64, 48, 1, 4), 45.5625, 59.25, 9.5625),
    "175B": ((12288, 96, 96, 8, 1), 45.5625, 66.84375, 12.3515625),
    "530B": ((20480, 128, 105, 35, 1), 31.640625, 114.0234375, 23.076171875),
    "1T": ((25600, 160, 128, 64, 1), 32.958984375, 131.25, 26.5625),
}


def gpt(hidden: int, heads: int, layers: int, batch: int = 512) -> ModelSpec:
    """A GPT of Megatron-LM: dropout, biases, tied embeddings."""
    return ModelSpec(
        "gpt", 51200, 51200, hidden, 4 * hidden, heads, 2048, batch, layers, fidelity="realistic",
        dropout=True, biases=True, tied_embeddings=True,
    )  # fmt: skip


@pytest.mark.parametrize("name", FIGURE_1)
def test_weights_and_optimizer_states_are_those_of_figure_1(name: str) -> None:
    """18 bytes per weight of the layers' matrices: 2, 4 for the gradient in fp32, 12 for Adam."""
    (hidden, heads, layers, pp, micro_batch), published_gib, _, _ = FIGURE_1[name]
    local = Local(gpt(hidden, heads, layers), Plan(tp=8, pp=pp, micro_batch=micro_batch, attention="unfused"))
    matrices = 12 * hidden**2 / 8
    assert layer_weights(local, "dense").dense == pytest.approx(
        matrices, rel=1e-3
    )  # norms and biases besides
    assert 18 * matrices * layers / pp / GIB == published_gib


@pytest.mark.parametrize("name", FIGURE_1)
def test_activations_are_those_of_figure_1(name: str) -> None:
    """All layers of the first of pp stages hold pp micro-batches: as much as all layers hold of one.

    With 3 interleaved chunks, as in the figure for 175B and 530B, it holds 1 + (p - 1) / (3 p) times that.
    """
    (hidden, heads, layers, pp, micro_batch), _, plain_gib, selective_gib = FIGURE_1[name]
    interleaved = 1 + (pp - 1) / (3 * pp) if name in ("175B", "530B") else 1
    model = gpt(hidden, heads, layers)
    common = {"tp": 8, "pp": pp, "micro_batch": micro_batch, "attention": "unfused"}
    plain, _ = layer_activations(Local(model, Plan(**common)), "dense")
    whole, core = layer_activations(Local(model, Plan(**common, sequence_parallel=True)), "dense")
    assert plain * layers / GIB * interleaved == pytest.approx(plain_gib, rel=1e-12)
    assert (whole - core) * layers / GIB * interleaved == pytest.approx(selective_gib, rel=1e-12)


def test_activations_of_a_layer_are_equations_1_and_4() -> None:
    """A layer holds sbh (10 + 24 / t + 5as / ht), and with sequence parallelism sbh (34 + 5as / h) / t."""
    model = gpt(12288, 96, 96)
    sbh = 2048 * 1 * 12288
    one, _ = layer_activations(Local(model, Plan(attention="unfused")), "dense")
    assert one == sbh * (34 + 5 * 96 * 2048 / 12288)
    eight, _ = layer_activations(Local(model, Plan(tp=8, attention="unfused")), "dense")
    assert eight == sbh * (10 + 24 / 8 + 5 * 96 * 2048 / (12288 * 8))
    parallel, core = layer_activations(
        Local(model, Plan(tp=8, attention="unfused", sequence_parallel=True)), "dense"
    )
    assert parallel == sbh * (34 + 5 * 96 * 2048 / 12288) / 8
    assert parallel - core == sbh * 34 / 8


def node(npus: int = 64) -> Cluster:
    """Nodes of 8 with memory without end."""
    chip = Accelerator("chip", {"bf16": 100.0}, 10**15, 1000.0, Efficiency(0.8, 0.8, 0.5, 0.5, 0.8, 4.0))
    tiers = (Tier("nvlink", 8, 300.0, 2.0), Tier("network", npus, 25.0, 5.0))
    return Cluster("cluster", chip, tiers[: 1 if npus == 8 else 2])


@pytest.mark.parametrize(
    ("zero", "bytes_each"),
    [(0, 16.0), (1, 4 + 12 / 64), (2, 2 + 14 / 64), (3, 16 / 64)],
)
def test_static_memory_is_the_table_of_zero(zero: int, bytes_each: float) -> None:
    """Rajbhandari et al. 2020, figure 1: 16 bytes a weight, 12 of them the optimiser's, over 64 ranks."""
    model = gpt(4096, 32, 36)
    stage = {"weight_sharded": True} if zero == 3 else {"zero": zero}
    plan = Plan(dp=64, micro_batch=1, framework="megatron-deepspeed", **stage)  # type: ignore[arg-type]
    found = predict(model, plan, node()).memory_bytes
    layer, table = layer_weights(Local(model, plan), "dense").dense, 51200 * 4096
    weights = 36 * layer + table + 2 * 4096
    gathered = 2 * (2 * layer + table + 2 * 4096) if zero == 3 else 0
    static = found["weights"] + found["gradients"] + found["optimizer"] - gathered
    assert static == pytest.approx(bytes_each * weights, rel=1e-6)


def test_peak_is_the_sum_of_its_categories_of_the_fullest_stage() -> None:
    """The first stage holds most micro-batches of activations."""
    found = predict(gpt(4096, 32, 32, 64), Plan(tp=2, pp=4, dp=1, micro_batch=1), node(8))
    assert found.peak_memory_bytes == sum(found.memory_bytes.values())
    deeper = predict(gpt(4096, 32, 32, 64), Plan(tp=2, pp=4, dp=1, micro_batch=1, schedule="gpipe"), node(8))
    assert deeper.memory_bytes["activations"] > 10 * found.memory_bytes["activations"]


def test_recompute_trades_memory_for_time() -> None:
    """Full recompute holds the inputs of layers; of half of the layers, half of that."""
    model = gpt(4096, 32, 32, 64)
    plain, half, full = [
        predict(model, Plan(tp=8, micro_batch=1, recompute=kind, recompute_layers=layers), node(8))
        for kind, layers in (("none", 0), ("full", 16), ("full", 0))
    ]
    assert plain.peak_memory_bytes > half.peak_memory_bytes > full.peak_memory_bytes
    assert plain.step_s < half.step_s < full.step_s
    assert half.step_s == pytest.approx((plain.step_s + full.step_s) / 2, rel=1e-9)
