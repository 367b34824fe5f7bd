"""Graphs of links as CSV files, exactly: the engine reads the lines, numbers stay the decimals they are."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError
from dse.base.files import read_text
from dse.base.lazy import _engine, np
from dse.base.numbers import exact_decimal
from dse.inputs.networks.graph import LinkGraph, LinkKind

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
_DIGITS = 30


def read_link_graph(path: Path, npus: int | None = None, *, parallel: bool = False) -> LinkGraph:
    """Read a graph: the number of nodes, a header line, then a directed link per line.

    The links are `source,destination,latency in ns,bandwidth in GB/s`. The nodes from `npus` on are switches;
    without it all are NPUs. With `parallel` a pair of nodes may have several links.

    Raises:
        InputError: an unreadable file; with its line: another number of fields, an unknown node, a link to
            itself or else one that occurs twice, a negative latency, a bandwidth that is not positive, too
            many digits; an NPU without links, or more NPUs than nodes.
    """
    nodes, sources, destinations, text_of, texts = _engine.read_links(str(path), parallel)
    if npus is not None and not 2 <= npus <= nodes:
        raise InputError(f"npus is {npus}; {path} has {nodes} nodes, so it must be 2 to {nodes}")
    numbers: dict[LinkKind, int] = {}  # 50 and 50.0 are one kind
    kind_of_text = []
    for number, pair in enumerate(texts):
        try:
            kind = LinkKind(*map(_exact, ("latency", "bandwidth"), pair))
        except InputError as error:
            line = _line_of(path, int(np.flatnonzero(text_of == number)[0]))
            raise InputError(f"{path}, line {line}: {error}") from None
        kind_of_text.append(numbers.setdefault(kind, len(numbers)))
    kind_of = np.array(kind_of_text, dtype=np.int32)[text_of]
    graph = LinkGraph(npus or nodes, nodes, sources, destinations, kind_of, tuple(numbers))
    require_links(graph, str(path))
    return graph


def _exact(what: str, text: str) -> Fraction:
    return exact_decimal(text, where=what)


def _line_of(path: Path, link: int) -> int:
    """The line of a link; blank lines are none."""
    lines = re.split(r"\r\n|\r|\n", read_text(path))
    return [number for number, line in enumerate(lines, 1) if line][2 + link]


def require_links(graph: LinkGraph, name: str) -> None:
    """Refuse a graph in which an NPU has no link.

    Raises:
        InputError: names the graph and the NPU.
    """
    has_link = np.zeros(graph.nodes, dtype=np.bool_)
    has_link[graph.sources] = True
    has_link[graph.destinations] = True
    alone = np.flatnonzero(~has_link[: graph.npus])
    if len(alone):
        others = f" and {len(alone) - 1} others have" if len(alone) > 1 else " has"
        raise InputError(
            f"{name}: NPU {alone[0]}{others} no link; give it one, or a smaller number of nodes in line 1"
        )


def link_graph_csv(graph: LinkGraph) -> str:
    """Return a graph as the text of such a file."""
    texts = [f"{decimal(latency)},{decimal(bandwidth)}" for latency, bandwidth in graph.kinds]
    columns = (graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist())
    lines = [f"{source},{to},{texts[kind]}" for source, to, kind in zip(*columns, strict=True)]
    return "\n".join([str(graph.nodes), HEADER, *lines, ""])


def decimal(value: Fraction) -> str:
    """Return a number as an exact decimal; one that has none is cut after 30 digits.

    A bandwidth that is cut is too small by so little that a floored time stays what it is: a time that is a
    whole number must not fall below it.
    """
    digits = next((n for n in range(_DIGITS) if (value * 10**n).denominator == 1), _DIGITS)
    scaled = value.numerator * 10**digits // value.denominator
    if not digits:
        return str(scaled)
    sign, text = "-" if scaled < 0 else "", str(abs(scaled)).rjust(digits + 1, "0")
    return f"{sign}{text[:-digits]}.{text[-digits:]}"
