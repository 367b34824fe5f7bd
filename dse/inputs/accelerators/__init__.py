"""Accelerator types, and clusters made of them."""

from dse.inputs.accelerators.accelerator import Accelerator as Accelerator
from dse.inputs.accelerators.accelerator import accelerator as accelerator
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS as DEFAULT_ALGORITHMS
from dse.inputs.accelerators.algorithms import GroupAlgorithms as GroupAlgorithms
from dse.inputs.accelerators.cluster import Cluster as Cluster
from dse.inputs.accelerators.cluster import Nics as Nics
from dse.inputs.accelerators.cluster import Tier as Tier
from dse.inputs.accelerators.cluster import TierSpec as TierSpec
from dse.inputs.accelerators.cluster import cluster as cluster
from dse.inputs.accelerators.cluster import divided_nics as divided_nics
from dse.inputs.accelerators.efficiency import Efficiency as Efficiency
from dse.inputs.accelerators.registry import FRAMEWORK as FRAMEWORK
from dse.inputs.accelerators.registry import accelerator_names as accelerator_names
from dse.inputs.accelerators.registry import aliases_of as aliases_of
