"""Tiers of clusters of any number of nodes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators import Nics, Tier, TierSpec, accelerator, cluster, divided_nics
from tests.references.prediction.placement import placement, span

H100 = accelerator("h100_sxm")
NVLINK = TierSpec("NVLink", 2, bandwidth_gbps=450)
NICS = TierSpec("leaf", 5, npus=64, nics_per_node=4, nic_gbit_per_s=400)
SPINE = TierSpec("spine", 8, oversubscription=4)


def test_nics_are_shared_and_oversubscription_divides() -> None:
    assert cluster("c", H100, 32, 8, [NVLINK, NICS, SPINE]).tiers == (
        Tier("NVLink", 8, 450, 2),
        Tier("leaf", 64, 25, 5),  # 4 x 400 Gb/s among 8
        Tier("spine", 256, 6.25, 8),
    )


def test_fewer_npus_of_a_node_have_more_of_its_nics() -> None:
    assert cluster("c", H100, 16, 4, [NVLINK, NICS]).tiers[1].bandwidth_gbps == 50


def test_nics_of_a_node_are_those_before_oversubscription() -> None:
    """4 x 400 Gb/s: 25 GB/s for each of 8 NPUs, two at a NIC; half as many NPUs have one each."""
    leaf = replace(NICS, oversubscription=5)
    assert cluster("c", H100, 32, 8, [NVLINK, leaf, SPINE]).nics == Nics(1, 2, 25.0)
    assert cluster("c", H100, 16, 4, [NVLINK, NICS]).nics == Nics(1, 1, 50.0)
    rack = TierSpec("rack", 2, npus=16, bandwidth_gbps=100)
    assert cluster("c", H100, 32, 8, [NVLINK, rack, NICS, SPINE]).nics == Nics(2, 2, 25.0)
    assert cluster("c", H100, 32, 8, [NVLINK, rack, SPINE]).nics is None


@pytest.mark.parametrize(
    ("count", "npus_each"), [(1, 8), (2, 4), (3, 4), (4, 2), (5, 2), (7, 2), (8, 1), (16, 1)]
)
def test_npus_at_a_nic_divide_those_of_a_node(count: int, npus_each: int) -> None:
    assert divided_nics(1, count, 8, 200.0) == Nics(1, npus_each, 25.0)


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
        (2**63, [NVLINK], "nodes of cluster c is 9223372036854775808; at most 16777216 are allowed"),
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
