"""Arbitrary directed graphs as networks; the engine reads their CSV form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dse.base.lazy import _engine

HEADER = ("Src", "Dest", "Latency (ns)", "Bandwidth (GB/s)")


@dataclass(frozen=True)
class GraphLink:
    """A directed link; here a GB/s is 10^9 bytes per second, which is a byte per ns."""

    source: int
    destination: int
    latency_ns: float
    bandwidth_bytes_per_ns: float


@dataclass(frozen=True)
class Graph:
    """Devices 0 … n-1 and directed links; the first devices are NPUs, the others switches."""

    devices: int
    links: tuple[GraphLink, ...]


@dataclass(frozen=True)
class StaticRoute:
    """The route from one NPU to another through the devices `via`."""

    source: int
    destination: int
    via: tuple[int, ...]


def read_graph(path: Path) -> Graph:
    """Read a graph: the number of nodes, a header line, then a directed link per line.

    The links are `source,destination,latency in ns,bandwidth in GB/s` with GB/s = 10^9 bytes per second.

    Raises:
        InputError: an unreadable file; a line with the wrong number of fields, an unknown node, a link to
            itself or one that occurs twice, a negative latency, a bandwidth that is not positive,
            either beyond the end of simulated time; names file and line.
    """
    devices, links = _engine.read_graph(str(path))
    return Graph(devices, tuple(GraphLink(*link) for link in links))


def read_routes(path: Path) -> tuple[StaticRoute, ...]:
    """Read static routes: a header `Src,Dest,Via`, then a route per line; Via lists devices, blank-separated.

    The route from source to destination passes the devices of Via in that order; pairs that are not listed
    take the shortest route. Whether the links exist is checked when the network is built.

    Raises:
        InputError: an unreadable file, a wrong header or line, a pair that occurs twice; names file and line.
    """
    return tuple(
        StaticRoute(source, destination, tuple(devices[:-1]))
        for source, destination, devices in _engine.read_routes(str(path))
    )
