"""A training system: NPUs, network, collective algorithms; ASTRA-sim's configuration files in and out."""

from dse.inputs.systems.astrasim import read_system, write_system
from dse.inputs.systems.fields import (
    OVER_ALL_NPUS,
    PER_DIMENSION,
    CollectiveAlgorithms,
    CustomCollectives,
    Derating,
    Dimension,
    LinkFault,
    NpuType,
    RemoteMemory,
    algorithm_of,
    is_synthesized,
)
from dse.inputs.systems.graph import read_graph, read_routes
from dse.inputs.systems.spec import SystemSpec
from dse.inputs.systems.validation import InvalidSystem

__all__ = [
    "OVER_ALL_NPUS",
    "PER_DIMENSION",
    "CollectiveAlgorithms",
    "CustomCollectives",
    "Derating",
    "Dimension",
    "InvalidSystem",
    "LinkFault",
    "NpuType",
    "RemoteMemory",
    "SystemSpec",
    "algorithm_of",
    "is_synthesized",
    "read_graph",
    "read_routes",
    "read_system",
    "write_system",
]
