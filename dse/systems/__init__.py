"""A training system: NPUs, network, collective algorithms; ASTRA-sim's configuration files in and out."""

from dse.systems.astrasim import read_system, write_system
from dse.systems.graph import Graph, StaticRoute, read_graph, read_routes
from dse.systems.spec import (
    CollectiveAlgorithms,
    Derating,
    Dimension,
    LinkFault,
    NpuType,
    RemoteMemory,
    SystemSpec,
)
from dse.systems.validation import InvalidSystem

__all__ = [
    "CollectiveAlgorithms",
    "Derating",
    "Dimension",
    "Graph",
    "InvalidSystem",
    "LinkFault",
    "NpuType",
    "RemoteMemory",
    "StaticRoute",
    "SystemSpec",
    "read_graph",
    "read_routes",
    "read_system",
    "write_system",
]
