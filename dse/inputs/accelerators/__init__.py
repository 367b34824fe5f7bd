"""Accelerator types, clusters made of them, and where the ranks of a plan lie on them."""

from dse.inputs.accelerators.accelerator import Accelerator, accelerator
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS, GroupAlgorithms
from dse.inputs.accelerators.cluster import Cluster, Nics, Tier, TierSpec, cluster
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.accelerators.placement import Group, Span, far_rate_gbps, placement, ring_bandwidth_gbps, span
from dse.inputs.accelerators.registry import accelerator_names, aliases_of

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
