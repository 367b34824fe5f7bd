"""Accelerator types, clusters made of them, and where the ranks of a plan lie on them."""

from dse.accelerators.accelerator import Accelerator, Efficiency
from dse.accelerators.cluster import Cluster, Tier, TierSpec, cluster
from dse.accelerators.placement import Group, Span, placement, ring_bandwidth_gbps, span
from dse.accelerators.registry import accelerator, accelerator_names, aliases_of

__all__ = [
    "Accelerator",
    "Cluster",
    "Efficiency",
    "Group",
    "Span",
    "Tier",
    "TierSpec",
    "accelerator",
    "accelerator_names",
    "aliases_of",
    "cluster",
    "placement",
    "ring_bandwidth_gbps",
    "span",
]
