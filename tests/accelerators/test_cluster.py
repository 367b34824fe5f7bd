"""Tiers of clusters of any number of nodes."""

from __future__ import annotations

import re

import pytest

from dse.accelerators import Tier, TierSpec, accelerator, cluster, placement, span
from dse.errors import InputError

H100 = accelerator("h100_sxm")
NVLINK = TierSpec("NVLink", 2, bandwidth_gbps=450)
NICS = TierSpec("leaf", 5, npus=64, nics_per_node=4, nic_gbit_per_s=400)
SPINE = TierSpec("spine", 8, oversubscription=4)


def test_nics_are_shared_and_oversubscription_divides() -> None:
    assert cluster("c", H100, 32, 8, [NVLINK, NICS, SPINE]).tiers == (
        Tier("NVLink", 8, 450, 2),
        Tier("leaf", 64, 25, 5, npus_per_nic=2),  # 4 x 400 Gb/s among 8
        Tier("spine", 256, 6.25, 8, npus_per_nic=2),
    )


def test_fewer_npus_of_a_node_have_more_of_its_nics() -> None:
    leaf = cluster("c", H100, 16, 4, [NVLINK, NICS]).tiers[1]
    assert (leaf.bandwidth_gbps, leaf.npus_per_nic) == (50, 1)
    assert cluster("c", H100, 16, 2, [NVLINK, NICS]).tiers[1].npus_per_nic == 1


@pytest.mark.parametrize(
    ("nodes", "names"), [(1, ["NVLink"]), (4, ["NVLink", "leaf"]), (8, ["NVLink", "leaf"])]
)
def test_tiers_that_join_nothing_more_are_left_out(nodes: int, names: list[str]) -> None:
    found = cluster("c", H100, nodes, 8, [NVLINK, NICS, SPINE])
    assert [tier.name for tier in found.tiers] == names
    assert (found.npus, found.npus_per_node) == (nodes * 8, 8)


def test_the_last_unit_may_be_filled_in_part() -> None:
    found = cluster("c", H100, 12, 8, [NVLINK, NICS, SPINE])
    assert [tier.npus for tier in found.tiers] == [8, 64, 96]
    dp = placement("tp-cp-ep-dp-pp", {"tp": 8, "dp": 12})["dp"]
    _, leaf, spine = span(dp, found)
    assert (leaf.members, leaf.fewest, leaf.units, spine.joins) == (8, 4, 2, 2)


@pytest.mark.parametrize(
    ("nodes", "tiers", "message"),
    [
        (0, [NVLINK], "nodes of cluster c is 0; it must be at least 1"),
        (4, [], "cluster c has no tiers"),
        (4, [NVLINK], "cluster c has 32 NPUs, but its last tier, NVLink, joins 8"),
        (4, [TierSpec("NVLink", 2)], "tier NVLink of cluster c has no bandwidth"),
        (
            4,
            [TierSpec("NVLink", 2, npus=4, bandwidth_gbps=1)],
            "joins 4 NPUs; the first tier joins the 8 of a",
        ),
        (8, [NVLINK, TierSpec("a", 1), SPINE], "tier a of cluster c has no npus"),
        (8, [NVLINK, TierSpec("a", 1, npus=12), SPINE], "joins 12 NPUs; it must be a multiple of the 8"),
    ],
)
def test_tiers_that_make_no_cluster_are_refused(nodes: int, tiers: list[TierSpec], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        cluster("c", H100, nodes, 8, tiers)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"oversubscription": 0.5}, "oversubscription is 0.5; it must be at least 1"),
        ({"bandwidth_gbps": 0}, "bandwidth_gbps is 0; it must be a number greater than 0"),
        ({"latency_us": -1}, "latency_us is -1; it must be a number 0 or greater"),
        ({"nics_per_node": 8}, "nics_per_node and nic_gbit_per_s belong together"),
        (
            {"bandwidth_gbps": 1, "nics_per_node": 8, "nic_gbit_per_s": 400},
            "has both bandwidth_gbps and NICs; give one",
        ),
    ],
)
def test_tiers_with_impossible_values_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        TierSpec(**{"name": "t", "latency_us": 1, **changes})  # type: ignore[arg-type]
