"""Realistic workloads against closed forms of the literature: FLOPs, activation memory, optimiser state."""

from __future__ import annotations

from dataclasses import replace

import pytest
from repairs import counts, kept_for_backward, nodes_of, peaks, realistic, simulated, tensors

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.studies.config import compose_config

# Korthikanti et al. 2022, table 3: heads, hidden width, micro-batch; sequence 2048, vocabulary 51200, t = 8.
PUBLISHED = {
    "22B": (64, 6144, 4),
    "175B": (96, 12288, 1),
    "530B": (128, 20480, 1),
    "1T": (160, 25600, 1),
}
S = 2048


def published(name: str, layers: int) -> ModelSpec:
    a, h, b = PUBLISHED[name]
    return ModelSpec(name, 51200, 51200, h, 4 * h, a, S, b, layers)


@pytest.mark.parametrize(
    ("name", "parameters", "flops"),
    [("llama70b", 68_975_329_280, 2.204e17), ("gpt175b", 175_181_291_520, 5.568e17)],
)
def test_flops_are_6_n_d_and_the_attention_scores(name: str, parameters: int, flops: float) -> None:
    """Kaplan et al. 2020: 6 a weight and token; N without the input embedding's table, which is looked up.

    The scores are 12 * layers * width * sequence a token (Narayanan et al. 2021, appendix).
    """
    model = replace(compose_config([f"model={name}"]).model, fidelity="realistic")
    assert model.parameters == parameters
    tokens = model.seq_len * model.batch_size
    multiplied = parameters - model.input_dim * model.d_model
    expected = (6 * multiplied + 12 * model.num_layers * model.d_model * model.seq_len) * tokens
    found = counts(model)["num_ops"]
    assert found == pytest.approx(expected, rel=0.001)
    assert found == pytest.approx(flops, rel=0.001)
    # The table counted as well, as N often is: still within 1 %.
    assert found == pytest.approx(expected + 6 * model.input_dim * model.d_model * tokens, rel=0.01)


def test_parameters_are_the_stored_weights() -> None:
    for fidelity in ("stage", "realistic"):
        model = replace(compose_config(["model=llama70b"]).model, num_layers=3, fidelity=fidelity)
        weights = [name for name in nodes_of(model) if name.endswith("@1_COMP")]
        sizes = [sum(tensors(nodes_of(model)[name], "outputs").values()) for name in weights]
        assert sum(sizes) == model.parameters * (2 if fidelity == "realistic" else 1)


@pytest.mark.parametrize("tp", [1, 8])
@pytest.mark.parametrize("name", PUBLISHED)
def test_activations_of_a_layer_are_megatron_s(name: str, tp: int) -> None:
    """Korthikanti et al. 2022, table 2; with tensor and sequence parallelism, everything / t."""
    a, h, b = PUBLISHED[name]

    def of_a_layer(recompute: str, used: bool) -> int:
        strategy = Strategy(tp=tp, activation_recompute=used)
        three, two = (
            kept_for_backward(realistic(published(name, n), recompute=recompute), strategy) for n in (3, 2)
        )
        return three - two

    everything = S * b * h * 34 + 5 * a * S * S * b
    assert of_a_layer("selective", False) == pytest.approx(everything / tp, rel=0.02)
    assert of_a_layer("selective", True) == pytest.approx(S * b * h * 34 / tp, rel=0.02)
    assert of_a_layer("full", True) == pytest.approx(2 * S * b * h / tp, rel=0.02)
    assert of_a_layer("selective", False) == everything // tp  # indeed exactly


@pytest.mark.parametrize(
    ("recompute", "used", "bytes_per_token_and_width"),
    [("selective", False, 34 + 5 * 16), ("selective", True, 34), ("full", True, 2)],
)
def test_the_simulated_peak_grows_by_the_activations_and_the_state(
    recompute: str, used: bool, bytes_per_token_and_width: int
) -> None:
    """With enough tokens the peak is where the backward pass begins: weights, state, all activations."""
    h, tokens = 128, 256 * 512

    def peak(layers: int) -> int:
        model = ModelSpec("m", 256, 256, h, 4 * h, 8, 256, 512, layers)
        return peaks(realistic(model, recompute=recompute), Strategy(tp=2, activation_recompute=used))[0]

    state = 14 * 12 * h * h
    assert peak(6) - peak(4) == 2 * (tokens * h * bytes_per_token_and_width + state) // 2


@pytest.mark.parametrize(
    ("strategy", "shards"),
    [
        (Strategy(dp=2), 1),
        (Strategy(dp=4), 1),
        (Strategy(sp=4), 1),
        (Strategy(tp=4), 4),
        (Strategy(dp=4, weight_sharded=True), 4),
        (Strategy(dp=2, sp=2, weight_sharded=True), 4),
        (Strategy(dp=2, tp=2, weight_sharded=True), 4),
    ],
    ids=lambda value: value.label() if isinstance(value, Strategy) else str(value),
)
def test_weights_gradients_and_optimizer_state_are_zero_s_table(strategy: Strategy, shards: int) -> None:
    """Rajbhandari et al. 2020, figure 1: (2 + 2 + 12) bytes a weight, over all ranks with full sharding."""
    model = realistic(ModelSpec("z", 1024, 1024, 1024, 4096, 8, 8, 8, 16))
    updates = {n: node for n, node in nodes_of(model, strategy).items() if n.endswith("@1_COMP")}
    held: dict[str, int] = {}
    for node in updates.values():
        held |= tensors(node, "inputs")
    weights = model.parameters // shards
    assert sum(size for name, size in held.items() if "_state@" in name) == 12 * weights
    assert sum(held.values()) == 16 * weights
    (peak,) = peaks(model, strategy)
    # Full sharding holds in addition the gathered weights of two blocks, and gradients on their way.
    transient = 0.36 if strategy.weight_sharded else 0.01
    assert 16 * weights <= peak <= 16 * weights * (1 + transient)


def test_the_bubble_and_the_memory_of_1f1b() -> None:
    """Narayanan et al. 2021, section 2.2: m + p - 1 slots for m micro-batches; stage s keeps p - s."""
    model = realistic(ModelSpec("p", 1024, 1024, 1024, 4096, 8, 2048, 64, 16))
    walls, memories = {}, {}
    for m in (1, 8, 32):
        metrics = simulated(replace(model, micro_batches=m), Strategy(pp=4)).classes
        walls[m] = max(ranks.wall_time_ns for ranks in metrics if ranks is not None)
        memories[m] = [ranks.peak_memory_bytes or 0 for ranks in metrics if ranks is not None]
    for m in (8, 32):
        assert walls[m] / walls[1] == pytest.approx((m + 3) / m / 4, rel=0.04)
    assert memories[8][0] / memories[1][0] == pytest.approx(1 / 2, rel=0.05)
    assert [memory / memories[8][3] for memory in memories[8]] == pytest.approx([4, 3, 2, 1], rel=0.1)
