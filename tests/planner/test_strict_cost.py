"""The strict cost of one plan by hand: links, shared uplinks, update and reduction, memory of a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs import price
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet

HOSTS = (
    Host("a", "V100", 2, 50.0, 10.0),
    Host("b", "V100", 2, 50.0, 8.0),
    Host("c", "A100", 4, 46.0, 20.0),
)
PROFILES = ProfileSet(
    {
        ProfileKey(kind, tp, batch): Profile(
            (ms * batch / tp,) * 4, (100.0 + 50.0 * batch,) * 4, gap, optimizer, 0.25
        )
        for kind, ms, gap, optimizer in (("V100", 8.0, 3.0, 12.0), ("A100", 2.0, 0.5, 8.0))
        for tp in (1, 2)
        for batch in (1, 2, 4, 8)
    },
    ProfileKey("V100", 1, 1),
    (4e6,) * 4,
)
# A sample's hidden states are 1000 x 500 x 2 bytes = 1 MB.
PROBLEM = PlanProblem(
    MixedCluster(HOSTS, {"V100": 16.0, "A100": 80.0}),
    PROFILES,
    ("V100", "A100"),
    gbs=8,
    hidden=500,
    sequence=1000,
)
PLAN = ClusterPlan(("V100", "A100"), (4, 4), ((2, 2), (4, 1)), 2, (0, 2, 4), 2)


def test_every_term_of_two_stages_by_hand() -> None:
    cost = price(PROBLEM, PLAN, "strict")
    first, last = cost.stages
    # Two layers of 8 x 2 / 2 ms; there and back 2 samples over the slowest uplink touched, 8 GB/s.
    assert (first.execution_ms, first.link_ms) == (16.0, pytest.approx(0.5))
    # The groups {0, 2} and {1, 3} cross both V100 hosts: 8 / 2 GB/s each, for half of 8 MB.
    assert first.reduction_ms == pytest.approx(2 * 1 / 2 * 4e6 / 4e6)
    assert first.update_ms == 12.0 / 2
    assert (last.execution_ms, last.link_ms) == (4.0, 0.0)
    assert last.reduction_ms == pytest.approx(2 * 3 / 4 * 8e6 / 46e6)
    assert last.update_ms == 8.0 / 2
    assert (cost.gap_ms, cost.batch_generator_ms) == (2 * 0.5, 2 * 0.25)
    assert cost.cost_ms == pytest.approx(1 * 16.5 + (16.5 + 4) + 1 + (6 + 1) + 0.5)


def test_micro_batches_in_flight_are_held_by_each_gpu_of_the_first_stage() -> None:
    first, last = price(PROBLEM, PLAN, "strict").stages
    # Totals of two layers at batch 2 are 400 MB; the second micro-batch adds 2 x (600 - 400) / 2.
    assert first.memory_bytes == (600.0 * 2**20,) * 4
    assert last.memory_bytes == (300.0 * 2**20,) * 4


def test_replicas_that_shard_the_optimizer_update_a_share_each() -> None:
    """ZeRO-1: 2 and 4 replicas; what is reduced stays, for gathering moves as much as reducing does."""
    whole, sharded = (
        price(PROBLEM, PLAN, "strict"),
        price(replace(PROBLEM, shard_optimizer=True), PLAN, "strict"),
    )
    assert [stage.update_ms for stage in whole.stages] == [6.0, 4.0]
    assert [stage.update_ms for stage in sharded.stages] == [3.0, 1.0]
    assert [stage.reduction_ms for stage in sharded.stages] == [stage.reduction_ms for stage in whole.stages]
    assert whole.cost_ms - sharded.cost_ms == pytest.approx(3.0)
