"""Graphs as JSON: node weights and edges, optionally devices, bytes, memory, names, module names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.plain_data import load_json_object
from dse.partition.graphs.graph import LARGEST
from dse.partition.graphs.sources.source import Operator, Source
from dse.partition.problem.problem import Devices

_NUMBERS = ("edge_bytes", "memory_bytes", "parameters", "parameter_bytes", "activation_bytes")
_OTHERS = ("node_weights", "edges", "parts", "distance", "names", "modules", "edge_tensors", "backward")
KEYS = (*_OTHERS, *_NUMBERS)
_IGNORED = ("name", "optimum", "labels_of_one_optimum")  # of instances with a known optimum


def read_json_graph(path: Path) -> Source:
    """Read `{"node_weights": […], "edges": [[u, v], …]}` and whatever of `KEYS` it has besides.

    `parts` is the number of devices and `distance` their matrix.

    Raises:
        InputError: names the file, the key and what is wrong with it.
    """
    return source_of(load_json_object(path), str(path))


def source_of(content: Mapping[str, Any], name: str) -> Source:
    """Return the graph of such an object; `name` is how messages call it."""
    for key in content:
        if key not in (*KEYS, *_IGNORED):
            raise InputError(
                f"{name}: unknown key {excerpt(key)}; allowed are {', '.join(KEYS)}{did_you_mean(key, KEYS)}"
            )
    for key in ("node_weights", "edges"):
        if key not in content:
            raise InputError(f"{name}: {key} is missing; a graph has node_weights and edges")
    weights = _numbers(content, "node_weights", name)
    nodes = len(weights)
    edges = _edges(content["edges"], name)
    columns = {key: _numbers(content, key, name) for key in _NUMBERS if key in content}
    for key, column in columns.items():
        _check_length(name, key, column, len(edges) if key == "edge_bytes" else nodes)
    names = _texts(content, "names", name, nodes) or [str(node) for node in range(nodes)]
    modules = _texts(content, "modules", name, nodes) or [""] * nodes
    tensors = _whole_numbers(content.get("edge_tensors", []), f"{name}: edge_tensors")
    if tensors:
        _check_length(name, "edge_tensors", tensors, len(edges))
    backward = content.get("backward", 2.0)
    if not _is_number(backward) or backward < 0:
        raise InputError(f"{name}: backward is {excerpt(repr(backward))}; it must be a number of at least 0")
    operators = tuple(
        Operator(
            names[node],
            modules[node],
            parameters=_at(columns, "parameters", node),
            parameter_bytes=_at(columns, "parameter_bytes", node),
            activation_bytes=_at(columns, "activation_bytes", node),
        )
        for node in range(nodes)
    )
    memory = columns.get("memory_bytes")
    if memory is None and not {"parameter_bytes", "activation_bytes"} & columns.keys():
        memory = [0.0] * nodes
    return Source(
        name,
        operators,
        tuple(edges),
        tuple(columns.get("edge_bytes", ())),
        tuple(tensors),
        tuple(weights),
        None if memory is None else tuple(memory),
        _devices(content, name),
        float(backward),
    )


def matrix_of(rows: Any, name: str) -> tuple[tuple[float, ...], ...]:
    """Return a square matrix of numbers from 0.

    Raises:
        InputError: it is not; names the row.
    """
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{name} is {excerpt(repr(rows))}; it must be a list of rows")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(rows):
            got = f"{len(row)} numbers" if isinstance(row, list) else excerpt(repr(row))
            raise InputError(
                f"{name}: row {number} has {got} and there are {len(rows)} rows; the matrix must be square"
            )
        for column, value in enumerate(row):
            if not _is_number(value) or value < 0:
                raise InputError(
                    f"{name}[{number}][{column}] is {excerpt(repr(value))}; it must be a number from 0 to "
                    f"{LARGEST:g}"
                )
    return tuple(tuple(map(float, row)) for row in rows)


def json_text(source: Source, weights: tuple[float, ...]) -> str:
    """Return a graph as the text of such a file."""
    operators = source.operators
    content: dict[str, Any] = {
        "node_weights": weights,
        "edges": source.edges,
        "names": [operator.name for operator in operators],
        "backward": source.backward,
    }
    if any(operator.module for operator in operators):
        content["modules"] = [operator.module for operator in operators]
    for key in ("edge_bytes", "edge_tensors"):
        if getattr(source, key):
            content[key] = getattr(source, key)
    for key in ("parameters", "parameter_bytes", "activation_bytes"):
        if any(getattr(operator, key) for operator in operators):
            content[key] = [getattr(operator, key) for operator in operators]
    return json.dumps(content) + "\n"


def _devices(content: Mapping[str, Any], name: str) -> Devices | None:
    distance = content.get("distance")
    matrix = None if distance is None else matrix_of(distance, f"{name}: distance")
    parts = content.get("parts", None if matrix is None else len(matrix))
    if parts is None:
        return None
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise InputError(f"{name}: parts is {excerpt(repr(parts))}; it must be a whole number from 1")
    if matrix is None:
        return Devices(parts)
    if len(matrix) != parts:
        raise InputError(f"{name}: distance has {len(matrix)} rows, but parts is {parts}; they must agree")
    return Devices(parts, matrix)


def _edges(rows: Any, name: str) -> list[tuple[int, int]]:
    if not isinstance(rows, list):
        raise InputError(f"{name}: edges is {excerpt(repr(rows))}; it must be a list of pairs of nodes")
    edges = []
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 2:
            raise InputError(f"{name}: edges[{number}] is {excerpt(repr(row))}; it must be a pair of nodes")
        tail, head = _whole_numbers(row, f"{name}: edges[{number}]")
        edges.append((tail, head))
    return edges


def _whole_numbers(row: Any, name: str) -> list[int]:
    if not isinstance(row, list) or any(type(n) is not int or abs(n) >= 2**63 for n in row):
        raise InputError(f"{name} is {excerpt(repr(row))}; it must be whole numbers of 64 bits")
    return list(row)


def _numbers(content: Mapping[str, Any], key: str, name: str) -> list[float]:
    column = content[key]
    if not isinstance(column, list):
        raise InputError(f"{name}: {key} is {excerpt(repr(column))}; it must be a list of numbers")
    for number, value in enumerate(column):
        if not _is_number(value):
            got = excerpt(repr(value))
            raise InputError(f"{name}: {key}[{number}] is {got}; it must be a number of at most {LARGEST:g}")
        if value < 0:
            raise InputError(f"{name}: {key}[{number}] is {value}; it must be at least 0")
    return [float(value) for value in column]


def _texts(content: Mapping[str, Any], key: str, name: str, nodes: int) -> list[str]:
    column = content.get(key, [])
    if not isinstance(column, list) or not all(isinstance(text, str) for text in column):
        raise InputError(f"{name}: {key} is {excerpt(repr(column))}; it must be a list of texts")
    if column:
        _check_length(name, key, column, nodes)
    return column


def _check_length(name: str, key: str, column: list[Any], expected: int) -> None:
    if len(column) != expected:
        of = "edges" if key.startswith("edge") else "nodes"
        raise InputError(f"{name}: {key} has {len(column)} entries, but there are {expected} {of}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _at(columns: Mapping[str, list[float]], key: str, node: int) -> float:
    return columns[key][node] if key in columns else 0.0
