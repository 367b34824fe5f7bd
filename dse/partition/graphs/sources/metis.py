"""Graphs as METIS files: a header, then the neighbours of each node on a line of its own."""

from __future__ import annotations

import re
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.partition.graphs.sources.source import Operator, Source

_ROW = re.compile(r"(\d{1,18}( |$))*", re.ASCII)


def read_metis(path: Path) -> Source:
    """Read a METIS graph (its manual, section 4.1.1): `n m [fmt [ncon]]`, then n lines; % begins a comment.

    The graph has no direction: every edge leads from the lower to the higher node. `fmt` is three digits:
    sizes of nodes (taken as memory), weights of nodes (only one each, ncon 1), weights of edges (as bytes).

    Raises:
        InputError: names the file and the line.
    """
    lines = [
        (number, line.split())
        for number, line in enumerate(read_text(path).splitlines(), 1)
        if not line.startswith("%")
    ]
    while lines and not lines[0][1]:
        del lines[0]
    if not lines:
        raise InputError(f"{path}: is empty; its first line must say nodes and edges")
    number, words = lines[0]
    header = _numbers(path, number, words)
    if not 2 <= len(header) <= 4 or header[0] < 1:
        raise InputError(f"{path}, line {number}: must be 'nodes edges [format [constraints]]'")
    nodes, edges = header[0], header[1]
    form = words[2].rjust(3, "0") if len(words) > 2 else "000"
    if len(form) != 3 or set(form) - {"0", "1"} or header[3:] not in ([], [1]):
        raise InputError(f"{path}, line {number}: format is {' '.join(words[2:])}; one weight a node is read")
    has_size, has_weight, has_bytes = (digit == "1" for digit in form)
    rows = lines[1 : nodes + 1]
    if len(rows) < nodes or any(words for _, words in lines[nodes + 1 :]):
        raise InputError(f"{path}: has {len(lines) - 1} lines of nodes, but line {number} says {nodes}")
    weights, sizes = [], []
    found: dict[tuple[int, int], int] = {}
    for node, (number, words) in enumerate(rows):
        values = _numbers(path, number, words)
        if len(values) < has_size + has_weight:
            raise InputError(f"{path}, line {number}: lacks the weight of its node")
        sizes.append(values.pop(0) if has_size else 0)
        weights.append(values.pop(0) if has_weight else 1)
        if has_bytes and len(values) % 2:
            raise InputError(f"{path}, line {number}: every neighbour needs a weight after it")
        step = 2 if has_bytes else 1
        for at in range(0, len(values), step):
            other = values[at] - 1
            if not 0 <= other < nodes or other == node:
                raise InputError(f"{path}, line {number}: neighbour {other + 1} is not in 1 to {nodes}")
            found[node, other] = values[at + 1] if has_bytes else 1
    for tail, head in found:
        if found.get((head, tail)) != found[tail, head]:
            raise InputError(
                f"{path}: the edge {tail + 1} – {head + 1} is not the same in the line of node {head + 1}"
            )
    if len(found) != 2 * edges:
        raise InputError(f"{path}: has {len(found) // 2} edges, but its first line says {edges}")
    forward = sorted(pair for pair in found if pair[0] < pair[1])
    return Source(
        str(path),
        tuple(Operator(str(node)) for node in range(nodes)),
        tuple(forward),
        tuple(float(found[pair]) for pair in forward),
        weights=tuple(map(float, weights)),
        memory_bytes=tuple(map(float, sizes)),
    )


def _numbers(path: Path, number: int, words: list[str]) -> list[int]:
    if not _ROW.fullmatch(" ".join(words)):
        wrong = next(word for word in words if not _ROW.fullmatch(word))
        raise InputError(
            f"{path}, line {number}: '{excerpt(wrong)}' is no whole number from 0 of at most 18 digits"
        )
    return [int(word) for word in words]
