"""A system's own network as a graph of links: all of its dimensions or some, with or without switches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

from dse.base.errors import InputError
from dse.base.lazy import NDArray, _engine, np
from dse.inputs.networks.csv import read_link_graph
from dse.inputs.networks.graph import LinkGraph, LinkKind
from dse.inputs.systems.fields import Dimension
from dse.inputs.systems.spec import SystemSpec

Switches = Literal["unrolled", "nodes"]
# A network GB/s of a system is 2^30 bytes per 10^9 ns; that of a CSV graph 10^9 bytes per 10^9 ns.
_CSV_GBPS = Fraction(10**9, 2**30)


def link_graph(
    system: SystemSpec, dimensions: Sequence[int] | None = None, switches: Switches = "unrolled"
) -> LinkGraph:
    """Return the links of a system's network, with bandwidths in its GB/s: 2^30 bytes per 10^9 ns.

    `dimensions` are the numbers of those to take, all by default: their product, with the NPUs renumbered.
    Nodes are numbered as devices of the congestion-aware simulation. A `Switch` is a node, or unrolled: with
    n ports of bandwidth W it becomes n(n-1) links of W/(n-1), their latency that of both ways. The switches
    of fat trees, dragonflies and graphs always are nodes, and copy and add as the system says. Faults of the
    system are not applied.

    Raises:
        InputError: no such dimension, an unreadable CSV file, or an NPU without links.
    """
    if system.npus < 2:
        raise InputError(f"system {system.name} has 1 NPU; links are between at least 2")
    numbers = list(range(len(system.network))) if dimensions is None else list(dimensions)
    for number in numbers:
        if not 0 <= number < len(system.network) or numbers.count(number) > 1:
            raise InputError(
                f"network dimension {number}: {system.name} has dimensions 0 to {len(system.network) - 1}, "
                "each may be taken once"
            )
    lines = [line_graph(system.network[number], switches) for number in sorted(numbers)]
    npus = math.prod(line.npus for line in lines)
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]] = []
    kinds: dict[LinkKind, int] = {}
    stride, nodes = 1, npus
    for line in lines:
        devices = _devices(line, npus, stride, nodes)
        kind = np.array([kinds.setdefault(kind, len(kinds)) for kind in line.kinds], dtype=np.int32)
        copies = len(devices)
        parts.append(
            (
                devices[:, line.sources].ravel(),
                devices[:, line.destinations].ravel(),
                np.tile(kind[line.kind_of], copies),
            )
        )
        nodes += copies * (line.nodes - line.npus)
        stride *= line.npus
    sources, destinations, kind_of = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.lexsort((destinations, sources))
    able, unable = frozenset[int](), frozenset(range(npus, nodes))
    return LinkGraph(
        npus,
        nodes,
        sources[order].astype(np.int32),
        destinations[order].astype(np.int32),
        kind_of[order],
        tuple(kinds),
        cannot_copy=able if system.switch_copies else unable,
        cannot_add=able if system.switch_adds else unable,
    )


def _devices(line: LinkGraph, npus: int, stride: int, first_switch: int) -> NDArray[np.int64]:
    """The number of each node of a dimension on each line of NPUs along it; shape (lines, nodes)."""
    numbers = np.arange(npus // line.npus)
    first = numbers % stride + numbers // stride * (stride * line.npus)
    own = first[:, None] + np.arange(line.npus) * stride
    switches = line.nodes - line.npus
    above = first_switch + numbers[:, None] * switches + np.arange(switches)
    return np.concatenate([own, above], axis=1)


def line_graph(dimension: Dimension, switches: Switches = "unrolled") -> LinkGraph:
    """Return the links of one dimension alone, as `link_graph`."""
    if dimension.file is not None:
        graph = read_link_graph(Path(dimension.file), dimension.npus)
        kinds = [kind._replace(bandwidth_gbps=kind.bandwidth_gbps * _CSV_GBPS) for kind in graph.kinds]
        return replace(graph, kinds=tuple(kinds))
    latency, bandwidth = (Fraction(repr(n)) for n in (dimension.latency_ns, dimension.bandwidth_gbps))
    npus = dimension.npus
    if dimension.topology == "Switch" and switches == "unrolled":
        each = bandwidth / (npus - 1)
        links = ((a, b, 2 * latency, each) for a in range(npus) for b in range(npus) if a != b)
        return LinkGraph.of(npus, npus, links)
    config = _engine.SystemConfig()
    config.add_dimension(
        dimension.topology,
        npus,
        dimension.bandwidth_gbps,
        dimension.latency_ns,
        list(dimension.shape),
        dimension.routing,
    )
    fabric = _engine.Fabric(config)
    pairs = sorted({(source, destination) for source, destination, *_ in fabric.links})
    return LinkGraph.of(npus, fabric.devices, ((a, b, latency, bandwidth) for a, b in pairs))
