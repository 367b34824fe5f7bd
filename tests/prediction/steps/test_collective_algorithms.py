"""Algorithms of predicted collectives in closed form, and which groups cannot have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.inputs.accelerators import (
    Accelerator,
    Cluster,
    Efficiency,
    GroupAlgorithms,
    Nics,
    Tier,
    divided_nics,
)
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.details import collectives_used
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict, require_feasible
from dse.studies.config import compose_config
from tests.references.prediction.collectives import FIXED_S, Links
from tests.references.prediction.placement import placement

CHIP = Accelerator("chip", {"bf16": 100.0}, 80 * 10**9, 1000.0, Efficiency(0.5, 0.4, 0.4, 0.5, 1.0, 5.0))
MODEL = ModelSpec("model", 32000, 32000, 2048, 8192, 16, 1024, 64, 16, fidelity="realistic")
NVLINK = Tier("nvlink", 8, 300.0, 2.0, 0.6)


def cluster(npus: int, nics: float | None = None, **algorithms: str) -> Cluster:
    """Nodes of 8: 300 GB/s, of which switches sum .6; between them 25 GB/s, of which they sum `nics`."""
    tiers = [NVLINK, Tier("network", npus, 25.0, 5.0, nics)]
    return Cluster("cluster", CHIP, tuple(tiers[: 1 + (npus > 8)]), GroupAlgorithms(**algorithms))


def links(algorithm: str, npus: int, axis: str = "dp", nics: float | None = None, **degrees: int) -> Links:
    """Links of the groups of an axis."""
    return Links.of(placement("tp-cp-ep-dp-pp", degrees)[axis], cluster(npus, nics), algorithm)


def test_tier_by_tier_only_an_eighth_leaves_a_node() -> None:
    """Cho et al. 2019, BlueConnect: scatter over 8 ranks, ring over 2 nodes with n / 8, gather over 8."""
    inside = FIXED_S + 7 / 8 * 1e9 / (0.9 * 300e9) + 6 * 2e-6  # 2 log2(8) hops are fewer than 7
    across = FIXED_S + 2 * 1 / 2 * 1e9 / 8 / (0.92 * 25e9) + 2 * 5e-6
    found = links("hierarchical", 16, dp=16)
    assert found.all_reduce_s(1e9) == pytest.approx(2 * inside + across, rel=1e-12)
    gathered = FIXED_S + 1 / 2 * 1e9 / 8 / (0.9 * 0.92 * 25e9) + 5e-6
    assert found.gather_s(1e9) == pytest.approx(inside + gathered, rel=1e-12)


def test_three_tiers_each_pass_what_those_below_leave() -> None:
    """4 ranks a node, 2 nodes a pod, 2 pods: n, n / 4, n / 8."""
    tiers = (Tier("a", 4, 100.0, 0.0), Tier("b", 8, 50.0, 0.0), Tier("c", 16, 10.0, 0.0))
    group = placement("tp-cp-ep-dp-pp", {"dp": 16})["dp"]
    found = Links.of(group, Cluster("pods", CHIP, tiers), "hierarchical")
    moved = 2 * (3 / 4 * 8e9 / 90e9) + 2 * (1 / 2 * 2e9 / (0.9 * 46e9)) + 2 * 1 / 2 * 1e9 / 9.2e9
    assert found.all_reduce_s(8e9) == pytest.approx(5 * FIXED_S + moved, rel=1e-12)


def shared_nics(count: int, *spine: Tier) -> Cluster:
    """Nodes of 8 with NICs of 50 GB/s in pods of 32."""
    gbps = count * 50.0
    tiers = (NVLINK, Tier("pod", 32, gbps / 8, 5.0), *spine)
    return Cluster("shared", CHIP, tiers, nics=divided_nics(1, count, 8, gbps))


@pytest.mark.parametrize(
    ("degrees", "gbps"),
    [
        ({"dp": 32}, 0.92 * 200),  # NPUs 0 and 1 are next to a NIC
        ({"tp": 2, "dp": 16}, 100 / 3),  # no two of 0, 2, 4 and 6 are
        ({"tp": 4, "dp": 8}, 50 / 3),
        ({"tp": 8, "dp": 4}, 0.92 * 25),  # one NPU of each node
    ],
)
def test_rings_that_pass_the_cpus_reach_a_third_of_the_nics(degrees: dict[str, int], gbps: float) -> None:
    """8 NPUs of a node share 4 NICs of 50 GB/s, and groups these; messages take the NIC of each rank."""
    group = placement("tp-cp-ep-dp-pp", degrees)["dp"]
    found = Links.of(group, shared_nics(4))
    assert found.bandwidth == pytest.approx(gbps * 1e9)
    assert found.message_bandwidth == Links.of(group, cluster(32)).message_bandwidth == pytest.approx(23e9)
    assert found.exchange_bandwidth == Links.of(group, cluster(32)).exchange_bandwidth
    assert found.send_s(1e9) - found.send_s(0) == pytest.approx(1 / 23)
    moved = (found.size - 1) / found.size * 1e9 / (0.9 * 23e9)
    assert found.pass_around_s(1e9) == pytest.approx(FIXED_S + (found.size - 1) * 5e-6 + moved)


@pytest.mark.parametrize(("count", "gbps"), [(1, 6.25 / 3), (2, 12.5 / 3), (4, 0.92 * 25)])
def test_one_rank_of_a_node_has_one_rate_by_any_algorithm(count: int, gbps: float) -> None:
    """Alone in its node it reaches its NIC through the CPUs if more than two NPUs are next to that."""
    group = placement("tp-cp-ep-dp-pp", {"tp": 8, "dp": 4})["dp"]
    for algorithm in ("ring", "hierarchical", "synthesized"):
        found = Links.of(group, shared_nics(count), algorithm)
        rates = {found.bandwidth, *(leg.bandwidth for leg in found.legs)}
        assert all(rate == pytest.approx(gbps * 1e9) for rate in rates)
    assert found.message_bandwidth == pytest.approx(gbps * 1e9)


def test_messages_within_a_rack_pass_no_nic() -> None:
    """Racks of 16 by a bus of 100 GB/s an NPU, NICs of 25 GB/s an NPU between them."""
    tiers = (NVLINK, Tier("bus", 16, 100.0, 1.0), Tier("network", 32, 25.0, 5.0))
    racks = Cluster("racks", CHIP, tiers, nics=Nics(2, 1, 25.0))
    inside = placement("tp-cp-ep-dp-pp", {"tp": 8, "cp": 2, "dp": 2})["cp"]
    across = placement("tp-cp-ep-dp-pp", {"tp": 8, "dp": 4})["dp"]
    assert Links.of(inside, racks).message_bandwidth == pytest.approx(92e9)
    assert Links.of(across, racks).message_bandwidth == pytest.approx(23e9)


def test_what_passes_the_cpus_may_still_be_faster_than_the_spine() -> None:
    """Pods of 32 behind 1 GB/s an NPU, which 4 groups share: 8 GB/s each, and 50 / 3 of the NICs."""
    group = placement("tp-cp-ep-dp-pp", {"tp": 4, "dp": 16})["dp"]
    assert Links.of(group, shared_nics(4, Tier("spine", 64, 1.0, 5.0))).bandwidth == pytest.approx(0.92 * 8e9)


@pytest.mark.parametrize("degrees", [{"tp": tp, "dp": 32 // tp} for tp in (1, 2, 4, 8)])
def test_more_nics_are_never_slower(degrees: dict[str, int]) -> None:
    group = placement("tp-cp-ep-dp-pp", degrees)["dp"]
    found = [Links.of(group, shared_nics(count)) for count in range(1, 17)]
    for name in ("bandwidth", "message_bandwidth", "exchange_bandwidth"):
        rates = [getattr(one, name) for one in found]
        assert rates == sorted(rates)


def test_exchanges_of_npus_that_are_not_next_to_a_nic_pass_the_cpus() -> None:
    """One NIC of 50 GB/s for 8 NPUs: 2.08 GB/s each, where .92 of 6.25 would be theirs."""
    group = placement("tp-cp-ep-dp-pp", {"ep": 32, "dp": 32, "expert_tp": 1})["ep"]
    found = Links.of(group, shared_nics(1))
    assert found.exchange_bandwidth == pytest.approx(32 / 24 * 6.25e9 / 3)


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_on_one_tier_it_is_an_all_reduce_like_any(size: int) -> None:
    inside, auto = (links(name, 16, axis="tp", tp=8, dp=2) for name in ("hierarchical", "auto"))
    assert inside.all_reduce_s(size) == pytest.approx(auto.all_reduce_s(size), rel=1e-12)
    assert inside.gather_s(size) == pytest.approx(auto.gather_s(size), rel=1e-12)


def test_switches_take_each_byte_once_and_give_it_back_once() -> None:
    """Graham et al. 2016: one message of latency, and the bytes once, whatever the number of ranks."""
    for tp in (2, 4, 8):
        found = links("in_switch", 8, axis="tp", tp=tp, dp=8 // tp)
        assert found.all_reduce_s(1e9) == pytest.approx(FIXED_S + 2e-6 + 1e9 / 180e9, rel=1e-12)


def test_switches_gather_no_fewer_bytes() -> None:
    """Each of 8 must get 7 / 8, however they travel; only the steps are saved."""
    found = links("in_switch", 8, dp=8)
    assert found.gather_s(1e9) == pytest.approx(FIXED_S + 2e-6 + 7 / 8 * 1e9 / 270e9, rel=1e-12)


def test_switches_of_two_tiers_work_at_the_same_time() -> None:
    """Up and down NVLink and over the network: 2 + 5 + 2 us; the slower tier counts, n / 8 on each rail."""
    found = links("in_switch", 16, nics=0.5, dp=16)
    assert found.all_reduce_s(1e9) == pytest.approx(FIXED_S + 9e-6 + 1e9 / 8 / 12.5e9, rel=1e-12)
    fast = links("in_switch", 16, nics=0.9, dp=16)
    assert fast.all_reduce_s(1e9) == pytest.approx(FIXED_S + 9e-6 + 1e9 / 180e9, rel=1e-12)


@given(st.sampled_from([2, 4, 8]))
def test_a_ring_at_the_same_rate_takes_two_p_minus_one_p_ths_of_that(tp: int) -> None:
    """Klenk et al. 2020: the gain of in-network reduction nears 2 with many ranks."""
    degrees = {"tp": tp, "dp": 8 // tp}
    group = placement("tp-cp-ep-dp-pp", degrees)["tp"]
    one = Cluster("equal", CHIP, (replace(NVLINK, latency_us=0.0, in_switch_efficiency=1.0),))
    ring, switch = (Links.of(group, one, name).all_reduce_s(1e9) - FIXED_S for name in ("ring", "in_switch"))
    assert ring / switch == pytest.approx(2 * (tp - 1) / tp)


def test_ring_and_tree_alone_are_what_auto_chooses_from() -> None:
    ring, tree, auto = (links(name, 64, dp=64) for name in ("ring", "tree", "auto"))
    assert ring.all_reduce_s(1e9) == pytest.approx(FIXED_S + 2 * 63 / 64 * 1e9 / 184e9 + 126 * 5e-6)
    assert tree.all_reduce_s(1e9) == pytest.approx(FIXED_S + 2 * 1e9 / 184e9 + 12 * 5e-6)
    assert (auto.used(1e4), auto.used(1e11)) == ("tree", "ring")
    for size in (1e4, 1e11):
        assert auto.all_reduce_s(size) == min(ring.all_reduce_s(size), tree.all_reduce_s(size))
    assert ring.gather_s(1e6) - tree.gather_s(1e6) == pytest.approx((63 - 12) * 5e-6)


def test_eight_h100_reach_what_nccl_tests_say() -> None:
    """NVLink SHARP on 8 H100: a bus bandwidth of 480 GB/s, 2 (p - 1) / p n / t (nccl-tests issue 212)."""
    system = compose_config(["system=dgx_h100", "system.nodes=1"]).system
    assert system.cluster is not None
    group = placement("tp-cp-ep-dp-pp", {"tp": 8})["tp"]
    seconds = Links.of(group, system.cluster, "in_switch").all_reduce_s(8e9)
    assert 2 * 7 / 8 * 8e9 / seconds / 1e9 == pytest.approx(480, rel=0.01)


def parts(npus: int, algorithms: Mapping[str, str], **choices: Any) -> Mapping[str, float]:
    plan = Plan(overlap_dp=False, **choices)
    return predict(MODEL, plan, cluster(npus, **algorithms)).parts_s


def test_a_groups_algorithm_changes_its_own_part_of_the_step() -> None:
    choices = {"tp": 8, "dp": 2, "zero": 0}
    before, after = parts(16, {}, **choices), parts(16, {"tp": "in_switch"}, **choices)
    assert {name for name in before if abs(before[name] - after[name]) > 1e-9} == {"tp"}
    hidden = 2 * 1024 * 2048
    auto, switch = (links(name, 16, axis="tp", tp=8, dp=2) for name in ("auto", "in_switch"))
    gain = auto.all_reduce_s(hidden) - switch.all_reduce_s(hidden)
    small = auto.all_reduce_s(4 * 1024) - switch.all_reduce_s(4 * 1024)
    # 16 layers x 2 blocks x 2 passes and the embedding, each of 32 micro-batches; twice for the loss
    per_micro_batch = (before["tp"] - after["tp"]) / 32
    assert per_micro_batch == pytest.approx(66 * gain + 2 * small, rel=1e-9)
    choices = {"tp": 2, "dp": 8, "zero": 0}
    before, after = parts(16, {}, **choices), parts(16, {"dp": "hierarchical"}, **choices)
    assert {name for name in before if abs(before[name] - after[name]) > 1e-9} == {"dp"}


def test_explanations_say_which_algorithm_a_group_uses() -> None:
    plan = Plan(tp=8, dp=2, zero=0)
    one, other = collectives_used(MODEL, plan, cluster(16, tp="in_switch"))
    assert (one.axis, one.ranks, one.collective, one.algorithm) == ("tp", 8, "all-reduce", "in_switch")
    assert one.size_bytes == 2 * 1024 * 2048
    assert one.seconds == links("in_switch", 16, axis="tp", tp=8, dp=2).all_reduce_s(one.size_bytes)
    assert (other.axis, other.ranks, other.algorithm) == ("dp_cp", 2, "ring")
    fsdp = Plan(tp=8, dp=2, weight_sharded=True, sequence_parallel=True)
    sharded = collectives_used(MODEL, fsdp, cluster(16))
    assert [each.collective for each in sharded] == [
        "reduce-scatter and all-gather",
        "all-gather of a layer's weights",
    ]


def test_predictions_say_that_no_run_tells_these_formulas() -> None:
    found = predict(MODEL, Plan(tp=8, dp=2), cluster(16, tp="in_switch", dp="hierarchical")).notes
    assert found[-2:] == (
        "collectives of tp are in_switch: their time was compared with no measured step",
        "collectives of dp are hierarchical: their time was compared with no measured step",
    )
    usual = predict(MODEL, Plan(tp=8, dp=2), cluster(16, tp="ring")).notes
    assert not [note for note in usual if "was compared with no measured step" in note]


@pytest.mark.parametrize(
    ("algorithms", "choices", "reason"),
    [
        ({"dp": "in_switch"}, {"dp": 16}, "pass network, whose switches do not sum"),
        ({"tp": "in_switch"}, {"tp": 16}, "pass network, whose switches do not sum"),
        ({"dp": "hierarchical"}, {"dp": 12}, "parts of the cluster have different numbers of them"),
    ],
)
def test_groups_that_cannot_have_an_algorithm_are_infeasible(
    algorithms: dict[str, str], choices: dict[str, int], reason: str
) -> None:
    plan = Plan(**choices)  # type: ignore[arg-type]
    model = replace(MODEL, batch_size=48)
    for ask in (predict, require_feasible):
        with pytest.raises(InfeasibleStrategy, match=reason):
            ask(model, plan, cluster(plan.npus, **algorithms))


def test_an_algorithm_that_nobody_knows_is_named() -> None:
    with pytest.raises(InputError, match=r"system\.group_algorithms\.dp is 'rings'; allowed are auto, ring,"):
        compose_config(["system=dgx_h100", "system.group_algorithms.dp=rings"])


def test_clusters_whose_switches_do_not_sum_refuse_to() -> None:
    with pytest.raises(InputError, match="in_switch, but no switches of dgx_a100 sum: give"):
        compose_config(["system=dgx_a100", "system.group_algorithms.tp=in_switch"])
    told = [
        "system=dgx_a100",
        "system.group_algorithms.dp=in_switch",
        "system.tiers.1.in_switch_efficiency=0.8",
    ]
    assert compose_config(told).system.group_algorithms.dp == "in_switch"


@pytest.mark.parametrize("share", [0, 1.5, -1])
def test_a_share_of_a_rate_is_above_0_and_at_most_1(share: float) -> None:
    with pytest.raises(InputError, match=f"tier NVLink: in_switch_efficiency is {share}"):
        compose_config(["system=dgx_h100", f"system.tiers.0.in_switch_efficiency={share}"])
