"""Accelerator types, clusters made of them, and where the ranks of a plan lie on them."""

from dse.accelerators.accelerator import Accelerator, Efficiency
from dse.accelerators.algorithms import DEFAULT_ALGORITHMS, GroupAlgorithms
from dse.accelerators.cluster import Cluster, Nics, Tier, TierSpec, cluster
from dse.accelerators.placement import Group, Span, far_rate_gbps, placement, ring_bandwidth_gbps, span
from dse.accelerators.registry import accelerator, accelerator_names, aliases_of

__all__ = [
    "DEFAULT_ALGORITHMS",
    "Accelerator",
    "Cluster",
    "Efficiency",
    "Group",
    "GroupAlgorithms",
    "Nics",
    "Span",
    "Tier",
    "TierSpec",
    "accelerator",
    "accelerator_names",
    "aliases_of",
    "cluster",
    "far_rate_gbps",
    "placement",
    "ring_bandwidth_gbps",
    "span",
]
