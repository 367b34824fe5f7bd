"""Accelerator types, and clusters made of them."""

from dse.inputs.accelerators.accelerator import Accelerator, accelerator
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS, GroupAlgorithms
from dse.inputs.accelerators.cluster import Cluster, Nics, Tier, TierSpec, cluster, divided_nics
from dse.inputs.accelerators.efficiency import Efficiency
from dse.inputs.accelerators.registry import FRAMEWORK, accelerator_names, aliases_of

__all__ = [
    "DEFAULT_ALGORITHMS",
    "FRAMEWORK",
    "Accelerator",
    "Cluster",
    "Efficiency",
    "GroupAlgorithms",
    "Nics",
    "Tier",
    "TierSpec",
    "accelerator",
    "accelerator_names",
    "aliases_of",
    "cluster",
    "divided_nics",
]
