"""Graphs whose nodes and edges have attributes by name: GraphML files, and graphs of networkx."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeGuard

from dse.base.errors import InputError, excerpt
from dse.partition.graphs.graph import LARGEST
from dse.partition.graphs.sources.source import Operator, Source

Attributes = Mapping[Any, Any]
_NODE = ("weight", "memory_bytes", "parameters", "parameter_bytes", "activation_bytes")


class NetworkxGraph(Protocol):
    """A graph of networkx, of any kind; the package itself is not needed."""

    @property
    def nodes(self) -> Any:
        """Nodes, and their attributes by `nodes(data=True)`."""

    @property
    def edges(self) -> Any:
        """Edges, and their attributes by `edges(data=True)`."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""


def is_networkx(value: object) -> TypeGuard[NetworkxGraph]:
    """Whether a value is a graph of networkx."""
    return all(callable(getattr(value, name, None)) for name in ("nodes", "edges", "is_directed"))


def networkx_source(graph: NetworkxGraph) -> Source:
    """Return a graph of networkx; edges of an undirected one lead from the node that comes first in it.

    Raises:
        InputError: as `attributed`, and for what is no model graph.
    """
    nodes = list(graph.nodes(data=True))
    number_of = {node: number for number, (node, _) in enumerate(nodes)}
    edges = []
    for tail, head, attributes in graph.edges(data=True):
        ends = [number_of[tail], number_of[head]]
        ends = ends if graph.is_directed() else sorted(ends)
        edges.append((ends[0], ends[1], attributes))
    return attributed(type(graph).__name__, [(str(node), own) for node, own in nodes], edges)


def attributed(
    name: str, nodes: Iterable[tuple[str, Attributes]], edges: Iterable[tuple[int, int, Attributes]]
) -> Source:
    """Return the graph of nodes with identities and edges between their numbers; `name` is of messages.

    Attributes of nodes: `weight` (default 1), `memory_bytes`, `parameters`, `parameter_bytes`,
    `activation_bytes`, `name`, `module`; of edges `bytes`, or `weight` where no edge has `bytes` (default 1).
    Others are left alone.

    Raises:
        InputError: no number for an attribute.
    """
    rows, links = list(nodes), list(edges)
    size = "bytes" if any("bytes" in own for *_, own in links) else "weight"
    numbers = [{key: _number(name, key, own[key]) for key in _NODE if key in own} for _, own in rows]
    operators = tuple(
        Operator(
            str(own.get("name", identity)),
            str(own.get("module", "")),
            parameters=found.get("parameters", 0),
            parameter_bytes=found.get("parameter_bytes", 0),
            activation_bytes=found.get("activation_bytes", 0),
            identity=identity,
        )
        for (identity, own), found in zip(rows, numbers, strict=True)
    )
    has_parts = any({"parameter_bytes", "activation_bytes"} & found.keys() for found in numbers)
    memory = tuple(found.get("memory_bytes", 0.0) for found in numbers)
    return Source(
        name,
        operators,
        tuple((tail, head) for tail, head, _ in links),
        tuple(_number(name, f"{size} of an edge", own.get(size, 1)) for *_, own in links),
        weights=tuple(found.get("weight", 1.0) for found in numbers),
        memory_bytes=None if has_parts and not any(memory) else memory,
    )


def _number(name: str, key: str, given: object) -> float:
    try:
        value = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = float("nan")
    if not 0 <= value <= LARGEST:
        raise InputError(
            f"{name}: {key} is '{excerpt(str(given))}'; it must be a number from 0 to {LARGEST:g}"
        )
    return value
