"""A training system: NPUs, network, collective algorithms; ASTRA-sim's configuration files in and out."""

from dse.systems.astrasim import read_system, write_system
from dse.systems.graph import Graph, read_graph
from dse.systems.spec import (
    CollectiveAlgorithms,
    Derating,
    Dimension,
    LinkFault,
    RemoteMemory,
    SystemSpec,
)
from dse.systems.validation import InvalidSystem

__all__ = [
    "Derating",
    "Graph",
    "LinkFault",
    "read_graph",
    "CollectiveAlgorithms",
    "Dimension",
    "InvalidSystem",
    "RemoteMemory",
    "SystemSpec",
    "read_system",
    "write_system",
]
