"""Predicted collectives that are synthesised: valid schedules, closed forms, bounds, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from dse.collectives.check.checker import check
from dse.inputs.accelerators import Accelerator, Cluster, Efficiency, GroupAlgorithms, Tier
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.steps.details import collectives_used
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from dse.prediction.steps.synthesized import gather_schedules, group_graph
from dse.studies.config import compose_config
from tests.references.prediction.collectives import FIXED_S, Links
from tests.references.prediction.placement import placement
from tests.references.prediction.synthesized import gather_s
from tests.references.prediction.tier_shares import Leg

CHIP = Accelerator("chip", {"bf16": 100.0}, 80 * 10**9, 1000.0, Efficiency(0.5, 0.4, 0.4, 0.5, 1.0, 5.0))
MODEL = ModelSpec("model", 32000, 32000, 2048, 8192, 16, 1024, 64, 16, fidelity="realistic")
SIZES = [1e4, 1e6, 1e8, 1e10]


def cluster(npus: int, **algorithms: str) -> Cluster:
    """Nodes of 8 at 300 GB/s, 25 GB/s between them."""
    tiers = (Tier("nvlink", 8, 300.0, 2.0), Tier("network", npus, 25.0, 5.0))
    return Cluster("cluster", CHIP, tiers[: 1 + (npus > 8)], GroupAlgorithms(**algorithms))


def links(algorithm: str, npus: int, axis: str = "dp", **degrees: int) -> Links:
    """Links of the groups of an axis."""
    return Links.of(placement("tp-cp-ep-dp-pp", degrees)[axis], cluster(npus), algorithm)


@pytest.mark.parametrize("size", SIZES)
def test_on_one_tier_ranks_send_to_each_other_at_once(size: int) -> None:
    """8 ranks: one hop of 2 us, and 7/8 of the bytes at 300 GB/s; a sum is scattered and gathered."""
    found = links("synthesized", 8, dp=8)
    assert found.gather_s(0.9 * size) == pytest.approx(FIXED_S + 2e-6 + 7 / 8 * size / 300e9, rel=1e-6)
    expected = FIXED_S + 2 * (2e-6 + 7 / 8 * size / 300e9)
    assert found.all_reduce_s(size) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("nodes", [2, 3, 8])
def test_tiers_work_at_once_and_no_bound_is_passed(nodes: int, size: float) -> None:
    """Each node must get what the others have through 8 NICs at .92, each rank 7/8 of it inside as well."""
    found = links("synthesized", 8 * nodes, dp=8 * nodes)
    least = max((nodes - 1) / nodes * size / (8 * 23e9), (8 * nodes - 1) / (8 * nodes) * size / 323e9)
    assert found.all_reduce_s(size) >= FIXED_S + 2 * least
    assert found.all_reduce_s(size) <= links("hierarchical", 8 * nodes, dp=8 * nodes).all_reduce_s(size)


def test_large_messages_come_near_the_bound_and_small_ones_take_a_hop_of_each_tier() -> None:
    """10 GB in 64 ranks: 16 chunks of a share leave 3 % above what the NICs need; 8 kB take 7 us and some."""
    legs = (Leg(8, 300e9, 2e-6, 0), Leg(8, 23e9, 5e-6, 0))
    least = 7 / 8 * 1e10 / (8 * 23e9)
    assert least < gather_s(legs, 1e10) < 1.04 * least
    assert 7e-6 < gather_s(legs, 8192) < 8e-6


def test_schedules_are_valid_and_links_divide_what_a_rank_sends() -> None:
    legs = (Leg(4, 300e9, 2e-6, 0), Leg(3, 23e9, 5e-6, 0))
    graph = group_graph(legs)
    assert (graph.npus, len(graph)) == (12, 12 * (3 + 2))
    assert {(each.latency_ns, each.bandwidth_gbps) for each in graph.kinds} == {
        (Fraction(2000), Fraction(100)),
        (Fraction(5000), Fraction(23, 2)),
    }
    found = gather_schedules(legs)
    assert [each.schedule.problem.collective.chunks_per_npu for each in found] == [1, 1, 4, 16]
    for each in found:
        assert check(each.schedule).is_valid
    assert math.isclose(gather_s(legs, 1e8), gather_s(legs, 1e8 + 1e-3), rel_tol=1e-9)


def test_a_step_has_them_where_they_are_chosen() -> None:
    plan = Plan(dp=2, tp=8)
    plain = predict(MODEL, plan, cluster(16))
    chosen = cluster(16, tp="synthesized", dp="synthesized")
    found = predict(MODEL, plan, chosen)
    assert found.parts_s["tp"] < plain.parts_s["tp"]
    assert found.parts_s["matrix_products"] == plain.parts_s["matrix_products"]
    assert "collectives of tp are synthesized: their time was compared with no measured step" in found.notes
    assert {each.algorithm for each in collectives_used(MODEL, plan, chosen)} == {"synthesized"}


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8, 1e10])
@pytest.mark.parametrize("degrees", [{"dp": 8}, {"dp": 64}, {"tp": 4, "dp": 16}, {"dp": 256}])
def test_they_are_never_slower_than_a_ring_or_a_tree(degrees: dict[str, int], size: float) -> None:
    npus = math.prod(degrees.values())
    found, plain = [links(algorithm, npus, **degrees) for algorithm in ("synthesized", "auto")]
    assert found.all_reduce_s(size) <= plain.all_reduce_s(size)
    assert found.gather_s(size) <= plain.gather_s(size)


def test_only_groups_that_have_collectives_are_asked_for() -> None:
    """Hybrid sharding over 8 of 512 ranks: 64 copies; nothing is done among all of them."""
    plan = Plan(dp=512, weight_sharded=True, shard_ranks=8)
    model = replace(MODEL, batch_size=512)
    assert predict(model, plan, cluster(512, dp="synthesized")).step_s > 0
    with pytest.raises(InfeasibleStrategy, match="512 ranks are synthesized"):
        predict(model, replace(plan, shard_ranks=0), cluster(512, dp="synthesized"))


def test_too_many_ranks_are_infeasible() -> None:
    with pytest.raises(InfeasibleStrategy, match=r"512 ranks are synthesized .* at most 256 ranks"):
        links("synthesized", 512, dp=512)


def test_groups_that_lie_differently_are_infeasible() -> None:
    with pytest.raises(InfeasibleStrategy, match=r"are synthesized .* different numbers of them"):
        links("synthesized", 24, axis="tp", tp=6, dp=4)


def test_configuration_takes_them() -> None:
    told = ["system=dgx_h100", "system.group_algorithms.tp=synthesized"]
    assert compose_config(told).system.group_algorithms.tp == "synthesized"
