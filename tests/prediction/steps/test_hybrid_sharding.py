"""Hybrid sharding (HSDP): ZeRO-3 inside groups of ranks, whose copies of the weights are kept alike."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.inputs.accelerators.systems import cluster_of_conf
from dse.inputs.models import MixtureOfExperts, ModelSpec
from dse.inputs.models.counts import parameters
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from tests.references.prediction.groups import groups_of
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.step import Timer
from tests.references.prediction.weights import Weights

MODEL = ModelSpec("small", 32000, 32000, 4096, 16384, 32, 2048, 64, 16, fidelity="realistic")
FOUR_NODES = cluster_of_conf("dgx_h100", 4)
WHOLE = Plan(dp=32, micro_batch=1, weight_sharded=True)
HYBRID = replace(WHOLE, shard_ranks=8)


def test_ranks_of_a_node_share_a_copy_and_equal_ranks_of_nodes_sum_their_shards() -> None:
    groups = groups_of(replace(HYBRID, dp=16, tp=2))
    assert groups["dp_cp"].all_ranks().tolist() == [
        [2 * rank + tp + start for rank in range(8)] for start in (0, 16) for tp in (0, 1)
    ]
    assert groups["replicas"].all_ranks().tolist() == [[rank, rank + 16] for rank in range(16)]
    assert groups_of(WHOLE)["replicas"].size == 1


def test_a_copy_is_held_by_as_many_ranks_as_share_it() -> None:
    """States of 12 bytes a weight over 8 ranks instead of 32."""
    whole, hybrid = predict(MODEL, WHOLE, FOUR_NODES), predict(MODEL, HYBRID, FOUR_NODES)
    weights = parameters(MODEL).total
    assert hybrid.memory_bytes["optimizer"] == pytest.approx(12 * weights / 8, rel=1e-3)
    assert whole.memory_bytes["optimizer"] == pytest.approx(12 * weights / 32, rel=1e-3)
    assert hybrid.memory_bytes["gradients"] == 4 * whole.memory_bytes["gradients"]


def test_gradients_are_scattered_in_the_group_and_their_shards_summed_over_the_copies() -> None:
    """10^9 gradients of 4 bytes: 7/8 of them over NVLink, then an eighth to and fro between 4 nodes."""
    timer = Timer(Local(MODEL, HYBRID), FOUR_NODES, groups_of(HYBRID))
    inside, between = timer.links("dp_cp"), timer.links("replicas")
    assert (inside.size, between.size) == (8, 4)
    assert between.bandwidth == pytest.approx(0.92 * 50e9)  # each of 8 rings has one of 8 NICs
    found = timer._reduce_s(Weights(1e9, 0.0))
    assert found == inside.gather_s(4e9) + between.all_reduce_s(0.5e9)


def test_gathers_inside_nodes_are_faster_where_the_network_is_slow() -> None:
    """Slow NICs carry 6 bytes a weight (gradients in fp32 there and back) instead of 8 (2 + 2 + 4)."""
    slow = replace(FOUR_NODES, tiers=(FOUR_NODES.tiers[0], replace(FOUR_NODES.tiers[1], bandwidth_gbps=5.0)))
    short = replace(MODEL, seq_len=512)
    whole, hybrid = predict(short, WHOLE, slow), predict(short, HYBRID, slow)
    assert hybrid.parts_s["dp"] < 0.8 * whole.parts_s["dp"]
    assert hybrid.step_s < whole.step_s


@pytest.mark.parametrize(
    ("model", "changes", "reason"),
    [
        (MODEL, {"weight_sharded": False}, "shard_ranks has no effect with zero 1; it must be 3"),
        (MODEL, {"shard_ranks": -1}, "shard_ranks is -1; it must be at least 0"),
        (MODEL, {"shard_ranks": 6}, "shard_ranks is 6; it must divide dp, 32"),
        (MODEL, {"shard_ranks": 32}, "shard_ranks is 32 of dp 32: write zero 1 for whole copies"),
        (MODEL, {"dp": 16, "cp": 2}, "shard_ranks goes without cp and without experts"),
        (replace(MODEL, experts=MixtureOfExperts(8, 2, 1024)), {}, "shard_ranks goes without cp and without"),
    ],
)
def test_copies_that_cannot_be_are_refused(model: ModelSpec, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(InfeasibleStrategy, match=reason):
        predict(model, replace(HYBRID, **changes), FOUR_NODES)  # type: ignore[arg-type]
