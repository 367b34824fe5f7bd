"""Simulated plans against numbers by hand, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs import Infeasible
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet
from dse.planner.questions.simulation import PlanSimulation, simulate
from dse.planner.questions.simulation.passes import Pass, order_of, ring_ends

HOSTS = (Host("a", "A100", 2, 100.0, 10.0), Host("v", "V100", 2, 100.0, 10.0))
CLUSTER = MixedCluster(HOSTS, {"A100": 80.0, "V100": 80.0})


def profile(ms: float, batch: int, tp: int, gap: float = 0.0) -> Profile:
    return Profile((ms * batch / tp,) * 4, (100.0,) * 4, gap, 8.0, 0.0)


PROFILES = ProfileSet(
    {
        ProfileKey(kind, tp, batch): profile(ms, batch, tp)
        for kind, ms in (("A100", 3.0), ("V100", 6.0))
        for tp in (1, 2, 4)
        for batch in (1, 2, 4, 8)
    },
    ProfileKey("A100", 1, 1),
    (10.0 * 2**20,) * 4,
)
# Activations of a sample: 1000 x 500 x 2 bytes = 1 MB, 0.1 ms between hosts.
PROBLEM = PlanProblem(CLUSTER, PROFILES, ("A100", "V100"), gbs=8, hidden=500, sequence=1000)
BOTH = ("A100", "V100")


def plan(
    groups: tuple[int, ...], strategies: tuple[tuple[int, int], ...], batches: int, *cuts: int
) -> ClusterPlan:
    return ClusterPlan(BOTH, groups, strategies, batches, (0, *cuts, 4), len(groups))


def effects(simulation: PlanSimulation) -> dict[str, float]:
    return {effect.name: round(effect.ms, 6) for effect in simulation.effects if abs(effect.ms) > 1e-6}


def test_two_stages_of_tensor_groups_by_hand() -> None:
    # Two layers each with tp 2: 2 x 3 x 2 / 2 = 6 ms and 12 ms a micro-batch of 2, 4 of them.
    found = simulate(PROBLEM, plan((2, 2), ((1, 2), (1, 2)), 4, 2))
    # Price: y = 6 + 2 x 0.2, 12; 3 x 12 + 18.4, and half of the optimizer's 8 ms.
    assert found.price_ms == pytest.approx(58.4)
    # Stage 1 begins after 2 + 0.2 ms, is busy for 48; 0.2 and 4 ms backward on stage 0; 4 ms of update.
    assert found.step_ms == pytest.approx(2.2 + 48 + 4.2 + 4)
    assert found.remainder_ms == 0


def test_replicas_of_unequal_degrees_hand_over_their_samples() -> None:
    # dp 2 sends to dp 1: a micro-batch of 2 comes in two messages over one uplink.
    found = simulate(PROBLEM, plan((2, 2), ((2, 1), (1, 2)), 4, 2))
    own = effects(found)
    assert found.remainder_ms == 0
    # Both replicas send 1 MB at once, the second waits for the uplink of their host in the first micro-batch.
    assert own["contention"] == pytest.approx(0.1 + 0.0, abs=0.11)
    assert found.step_ms > simulate(PROBLEM, plan((2, 2), ((1, 2), (1, 2)), 4, 2)).step_ms


def test_a_tensor_group_of_two_types_is_as_fast_as_its_slowest_gpu() -> None:
    keys = {key: replace(each, gap_ms=1.0) for key, each in PROFILES.profiles.items()}
    problem = replace(PROBLEM, profiles=replace(PROFILES, profiles=keys))
    found = simulate(problem, plan((4,), ((1, 4),), 1), "compat")
    # 4 layers x 6 ms x 8 samples / 4; the price takes the first GPU, an A100. Gap: 1 ms, update: 8 ms.
    assert found.step_ms == pytest.approx(48 + 1 + 8)
    assert effects(found)["layer times"] == pytest.approx(24)


def test_gradients_are_reduced_in_rings_over_the_uplinks() -> None:
    found = simulate(PROBLEM, plan((4,), ((4, 1),), 1))
    # Shares 3, 3, 1, 1 by speed; 3 samples in slices of 2 and 1 take 4 x 3 x 3 = 36 ms on A100.
    # 40 MB in 6 messages of 10 MiB over 10 GB/s, waiting 10 ns each, then 8 ms of update.
    ring = 6 * 10 * 2**20 / 1e7
    assert found.step_ms == pytest.approx(36 + ring + 8, rel=1e-4)
    assert found.refused == ""


def test_plans_that_train_no_model_are_refused() -> None:
    lossy = ClusterPlan(BOTH, (2, 2), ((1, 2), (1, 2)), 4, (0, 2, 3), 2)
    with pytest.raises(Infeasible, match="layers 3 to 3 are in no stage"):
        simulate(PROBLEM, lossy)
    keys = {key: value for key, value in PROFILES.profiles.items() if key != ("A100", 2, 2)}
    problem = replace(PROBLEM, profiles=replace(PROFILES, profiles=keys))
    with pytest.raises(Infeasible, match="no profile of A100 tp 2 batch 2"):
        simulate(problem, plan((2, 2), ((1, 2), (1, 2)), 4, 2))


def test_a_step_beyond_the_clock_is_refused() -> None:
    long = {
        key: replace(one, layer_ms=tuple(1e10 * ms for ms in one.layer_ms))
        for key, one in PROFILES.profiles.items()
    }
    problem = replace(PROBLEM, profiles=replace(PROFILES, profiles=long))
    with pytest.raises(Infeasible, match="is too long to simulate: at most "):
        simulate(problem, plan((2, 2), ((1, 2), (1, 2)), 4, 2))


def test_empty_stages_are_idle_and_said() -> None:
    empty = ClusterPlan(BOTH, (2, 2), ((1, 2), (1, 2)), 4, (0, 4, 4), 2)
    found = simulate(PROBLEM, empty, "compat")
    assert found.notes == ("2 GPUs are idle: their stages have no layers",)
    assert found.step_ms == pytest.approx(4 * 12 + 8)
    assert found.remainder_ms == 0


def test_a_plan_that_does_not_fit_is_simulated_and_named() -> None:
    problem = replace(PROBLEM, cluster=replace(CLUSTER, memory_gib={"A100": 80.0, "V100": 0.2}))
    found = simulate(problem, plan((2, 2), ((1, 2), (1, 2)), 4, 2))
    assert found.price_ms is None
    assert found.refused.startswith("V100 tp 2 batch 2: layers 2 to 3")
    assert found.short_of_memory.startswith("V100 tp 2: layers 2 to 3 need")
    assert found.step_ms == pytest.approx(58.4)


def test_one_forward_one_backward() -> None:
    order = [("b" if each.is_backward else "f") + str(each.micro_batch) for each in order_of(0, 3, 4)]
    assert order == ["f0", "f1", "f2", "b0", "f3", "b1", "b2", "b3"]
    assert order_of(2, 3, 1) == [Pass(False, 0), Pass(True, 0)]


def test_a_ring_waits_for_its_last_member() -> None:
    assert ring_ends([0, 0, 0], [100, 100, 100], 10) == [450, 450, 450]
    assert max(ring_ends([0, 0, 1000], [100, 100, 100], 10)) == 1450
