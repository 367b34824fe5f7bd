"""Profiles from predictions: they are what predicted steps consist of, and scale to measurements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators import Accelerator, TierSpec, cluster
from dse.inputs.models import ModelSpec
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs_from_model import calibrated_profiles, model_profiles
from dse.planner.problem.problem import Profile, ProfileKey, ProfileSet
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict

TINY = ModelSpec(
    name="tiny",
    input_dim=4096,
    output_dim=4096,
    d_model=1024,
    d_ff=4096,
    num_heads=16,
    seq_len=512,
    batch_size=8,
    num_layers=4,
)
CLUSTER = MixedCluster(
    (
        *[Host(f"v{i}", "V100", 4, 150, 25) for i in range(2)],
        *[Host(f"a{i}", "A100", 4, 300, 50) for i in range(2)],
    ),
    {"V100": 29.8, "A100": 74.5},
)
ACCELERATORS = {"V100": "v100_32", "A100": "a100_80"}
PROFILES = model_profiles(TINY, CLUSTER, ACCELERATORS, max_batch=8)


@pytest.mark.parametrize(("type_", "tp", "batch"), [("A100", 1, 1), ("A100", 4, 2), ("V100", 8, 8)])
def test_layers_sum_to_the_predicted_step(type_: str, tp: int, batch: int) -> None:
    """With one data-parallel rank a predicted step is micro-batches of all layers, and the optimizer."""
    host = next(host for host in CLUSTER.hosts if host.type == type_)
    accelerator = Accelerator.named(ACCELERATORS[type_])
    tiers = [
        TierSpec("node", 2, bandwidth_gbps=host.intra_gbps),
        TierSpec("nodes", 5, bandwidth_gbps=host.inter_gbps / 4),
    ]
    links = cluster("c", accelerator, -(-tp // 4), min(tp, 4), tiers)
    precision = "fp16" if type_ == "V100" else "bf16"
    step = predict(TINY, Plan(tp=tp, micro_batch=batch, zero=0, precision=precision), links)
    profile = PROFILES.profiles[ProfileKey(type_, tp, batch)]
    passes_ms = 1000 * (step.step_s - step.parts_s["optimizer"])
    assert 8 / batch * sum(profile.layer_ms) == pytest.approx(passes_ms, rel=1e-9)
    # Predictions copy norms over tp; here all parameters are split.
    assert profile.optimizer_ms == pytest.approx(1000 * step.parts_s["optimizer"], rel=2e-3)


def test_layers_are_embedding_blocks_and_head() -> None:
    assert PROFILES.layers == 6
    assert PROFILES.parameters_bytes[0] == 2 * 4096 * 1024
    assert PROFILES.parameters_bytes[5] == 2 * 4096 * 1024
    assert not PROFILES.memory_has_states
    first = PROFILES.profiles[ProfileKey("A100", 1, 1)]
    assert len(set(first.layer_ms[1:5])) == 1
    assert first.layer_memory_mb[5] == 6 * 512 * 4096 / 2**20  # logits in 16 bit, softmax in fp32


def test_keys_are_powers_of_two_that_divide_the_heads() -> None:
    assert {key.tp for key in PROFILES.profiles} == {1, 2, 4, 8, 16}
    assert {key.batch for key in PROFILES.profiles} == {1, 2, 4, 8}
    odd = model_profiles(replace(TINY, num_heads=4), CLUSTER, ACCELERATORS)
    assert {key.tp for key in odd.profiles} == {1, 2, 4}


def test_sequence_parallelism_shares_out_what_tensor_groups_hold_twice() -> None:
    shared = model_profiles(TINY, CLUSTER, ACCELERATORS, max_batch=8, sequence_parallel=True)
    for key, own in PROFILES.profiles.items():
        if key.tp == 1:
            assert shared.profiles[key] == own
        elif key in shared.profiles:
            assert shared.profiles[key].layer_memory_mb[1] < own.layer_memory_mb[1]
    two, whole = shared.profiles[ProfileKey("A100", 4, 2)], PROFILES.profiles[ProfileKey("A100", 1, 2)]
    assert two.layer_memory_mb[1] == pytest.approx(whole.layer_memory_mb[1] / 4, rel=0.02)
    assert "sequence parallelism (sequence_parallel=true has it)" in PROFILES.leaves_out
    assert shared.leaves_out == ("recomputation", "context parallelism")


def test_faster_accelerators_are_faster() -> None:
    a100, v100 = (PROFILES.profiles[ProfileKey(type_, 1, 8)] for type_ in ("A100", "V100"))
    assert all(one < other for one, other in zip(a100.layer_ms, v100.layer_ms, strict=True))


def test_a_type_without_an_accelerator_is_named() -> None:
    with pytest.raises(InputError, match="type V100 has no accelerator; costs=model needs one"):
        model_profiles(TINY, CLUSTER, {"A100": "a100_80"})


def measured(factors: dict[str, float], layers: int = 6) -> ProfileSet:
    """The predictions times a factor per type, for tp 1 and 2, of a model with more layers."""
    found = {}
    for key, profile in PROFILES.profiles.items():
        if key.type in factors and key.tp <= 2:
            factor = factors[key.type]
            first, *inner, last = (factor * ms for ms in profile.layer_ms)
            times = (first, *inner[:1] * (layers - 2), 3 * last)
            found[key] = Profile(times, (1.0,) * layers, 0.25, 5 * profile.optimizer_ms, 1.5)
    return ProfileSet(found, next(iter(found)), (1.0,) * layers)


def test_measurements_scale_predictions_per_type() -> None:
    scaled, fits = calibrated_profiles(PROFILES, measured({"A100": 1.5, "V100": 0.5}, layers=20))
    assert scaled.source == "calibrated"
    a100, v100 = fits[1], fits[0]
    assert (a100.type, v100.type) == ("A100", "V100")
    assert (a100.embedding, a100.layers, a100.head, a100.optimizer) == pytest.approx((1.5, 1.5, 4.5, 5))
    assert (a100.worst, a100.keys) == (pytest.approx(1), 8)
    key = ProfileKey("A100", 16, 8)  # not measured
    before, after = PROFILES.profiles[key], scaled.profiles[key]
    assert after.layer_ms[2] == pytest.approx(1.5 * before.layer_ms[2])
    assert after.layer_ms[5] == pytest.approx(4.5 * before.layer_ms[5])
    assert (after.gap_ms, after.batch_generator_ms) == (0.25, 1.5)
    assert after.layer_memory_mb == before.layer_memory_mb
    assert scaled.parameters_bytes == PROFILES.parameters_bytes


def test_types_without_measurements_stay_predicted() -> None:
    scaled, fits = calibrated_profiles(PROFILES, measured({"A100": 2.0}))
    assert [fit.type for fit in fits] == ["A100"]
    key = ProfileKey("V100", 1, 1)
    assert scaled.profiles[key] == PROFILES.profiles[key]


def test_the_worst_deviation_is_told() -> None:
    own = measured({"A100": 1.0})
    key = ProfileKey("A100", 1, 1)
    slow = replace(own.profiles[key], layer_ms=tuple(4 * ms for ms in own.profiles[key].layer_ms))
    _, (fit,) = calibrated_profiles(PROFILES, replace(own, profiles={**own.profiles, key: slow}))
    mean = 4 ** (1 / 8)
    assert fit.layers == pytest.approx(mean)
    assert fit.worst == pytest.approx(4 / mean)


def test_measurements_of_other_types_are_refused() -> None:
    foreign = ProfileSet(
        {ProfileKey("T4", 1, 1): PROFILES.profiles[PROFILES.first]}, ProfileKey("T4", 1, 1), (1.0,) * 6
    )
    with pytest.raises(InputError, match="no type, tensor degree and batch of the predictions; they have T4"):
        calibrated_profiles(PROFILES, foreign)
