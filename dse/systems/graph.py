"""Arbitrary directed graphs as networks: reading the CSV form."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

from dse.errors import InputError

ROUTES_HEADER = ("Src", "Dest", "Via")
HEADER = ("Src", "Dest", "Latency (ns)", "Bandwidth (GB/s)")
_MOST_DEVICES = 1 << 20


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
    """The way from one NPU to another through the devices `via`."""

    source: int
    destination: int
    via: tuple[int, ...]


def read_graph(path: Path) -> Graph:
    """Read a graph: the number of nodes, a header line, then a directed link a line.

    The links are `source,destination,latency in ns,bandwidth in GB/s` with GB/s = 10^9 bytes per second.

    Raises:
        InputError: an unreadable file; a line with the wrong number of fields, an unknown node, a link to
            itself or one that occurs twice, a negative latency, a bandwidth that is not positive; names file
            and line.
    """
    try:
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if len(rows) < 2 or len(rows[0]) != 1:
        raise InputError(f"{path}, line 1: expected the number of nodes, then a header line")
    devices = _integer(path, 1, "the number of nodes", rows[0][0], 2, _MOST_DEVICES)
    if len(rows[1]) != len(HEADER) or all(_is_number(cell) for cell in rows[1]):
        raise InputError(f"{path}, line 2: is '{','.join(rows[1])}'; expected the header {','.join(HEADER)}")
    links: dict[tuple[int, int], GraphLink] = {}
    for line, row in enumerate(rows[2:], 3):
        if not row:
            continue
        link = _link(path, line, row, devices)
        if (link.source, link.destination) in links:
            raise InputError(
                f"{path}, line {line}: the link {link.source} to {link.destination} occurs twice; "
                "add the bandwidths of parallel links"
            )
        links[link.source, link.destination] = link
    return Graph(devices, tuple(links.values()))


def read_routes(path: Path) -> tuple[StaticRoute, ...]:
    """Read static routes: a header `Src,Dest,Via`, then a route a line; Via lists devices, blank-separated.

    The route from source to destination passes the devices of Via in that order; pairs that are not listed
    take the shortest way. Whether the links exist is checked when the network is built.

    Raises:
        InputError: an unreadable file, a wrong header or line, a pair that occurs twice; names file and line.
    """
    try:
        rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if not rows or tuple(cell.strip() for cell in rows[0]) != ROUTES_HEADER:
        raise InputError(f"{path}, line 1: expected the header {','.join(ROUTES_HEADER)}")
    routes: dict[tuple[int, int], StaticRoute] = {}
    for line, row in enumerate(rows[1:], 2):
        if not row:
            continue
        if len(row) != len(ROUTES_HEADER):
            raise InputError(
                f"{path}, line {line}: has {len(row)} fields; expected {','.join(ROUTES_HEADER)}"
            )
        source, destination = (
            _integer(path, line, what, cell, 0, _MOST_DEVICES)
            for what, cell in zip(ROUTES_HEADER[:2], row[:2], strict=True)
        )
        via = tuple(_integer(path, line, "Via", text, 0, _MOST_DEVICES) for text in row[2].split())
        if (source, destination) in routes:
            raise InputError(f"{path}, line {line}: the route from {source} to {destination} occurs twice")
        routes[source, destination] = StaticRoute(source, destination, via)
    return tuple(routes.values())


def _link(path: Path, line: int, row: list[str], devices: int) -> GraphLink:
    if len(row) != len(HEADER):
        raise InputError(
            f"{path}, line {line}: has {len(row)} fields; expected {len(HEADER)}: {','.join(HEADER)}"
        )
    source = _integer(path, line, "Src", row[0], 0, devices - 1)
    destination = _integer(path, line, "Dest", row[1], 0, devices - 1)
    if source == destination:
        raise InputError(f"{path}, line {line}: links node {source} to itself")
    latency = _number(path, line, "latency", row[2])
    bandwidth = _number(path, line, "bandwidth", row[3])
    if latency < 0 or bandwidth <= 0:
        raise InputError(
            f"{path}, line {line}: latency is {row[2].strip()} and bandwidth {row[3].strip()}; "
            "the latency must be at least 0, the bandwidth above 0"
        )
    return GraphLink(source, destination, latency, bandwidth)


def _integer(path: Path, line: int, what: str, text: str, least: int, most: int) -> int:
    if not text.strip().isdecimal() or not least <= int(text) <= most:
        raise InputError(f"{path}, line {line}: {what} is '{text.strip()}'; expected {least} to {most}")
    return int(text)


def _number(path: Path, line: int, what: str, text: str) -> float:
    if not _is_number(text):
        raise InputError(f"{path}, line {line}: {what} is '{text.strip()}'; expected a number")
    return float(text)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
