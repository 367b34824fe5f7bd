"""ONNX files as graphs: a node an operator, its work from the shapes that onnx infers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.files import read_bytes
from dse.base.lazy import extra
from dse.partition.graphs.sources.onnx_flops import flops_of
from dse.partition.graphs.sources.source import Operator, Source

Shape = tuple[int, ...]


def read_onnx(path: Path, dimensions: Mapping[str, int] | None = None) -> Source:
    """Read a model; `dimensions` are the sizes of its symbolic dimensions by name.

    An unnamed dimension is called INPUT.AXIS. Weights in files of their own are not read: shapes suffice. A
    weight counts in the first operator that uses it. Constants are no operators.

    Raises:
        InputError: onnx is not installed; a file cut short or no model; symbolic dimensions without sizes, by
            name, or sizes of dimensions that the model does not have.
    """
    onnx = extra("onnx", f"{path}: reading ONNX needs the package onnx; pip install 'dse[onnx]'")
    from google.protobuf.message import DecodeError

    content = read_bytes(path)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise InputError(f"{path}: is no ONNX model, or cut short ({len(content)} bytes)") from None
    _check_whole(path, model)
    _set_dimensions(path, model, dict(dimensions or {}))
    del model.graph.value_info[:]  # says symbolic sizes; inferred again from those of the inputs
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception as error:  # whatever onnx raises for an operator that cannot be
        raise InputError(
            f"{path}: onnx cannot infer shapes: {excerpt(' '.join(str(error).split()), 200)}"
        ) from None
    return _source(str(path), model)


def _check_whole(path: Path, model: Any) -> None:
    if not model.HasField("graph") or not model.graph.node or not model.opset_import:
        raise InputError(f"{path}: is no ONNX model, or cut short: it lacks its graph or its operator set")
    known = {"", *(value.name for value in model.graph.input), *(i.name for i in model.graph.initializer)}
    known |= {sparse.values.name for sparse in model.graph.sparse_initializer}
    for node in model.graph.node:
        for name in node.input:
            if name not in known:
                raise InputError(
                    f"{path}: operator {excerpt(node.name or node.op_type)} uses '{excerpt(name)}', which "
                    "nothing before it makes; operators must be in order"
                )
        known |= set(node.output)


def _set_dimensions(path: Path, model: Any, sizes: dict[str, int]) -> None:
    initialized = {value.name for value in model.graph.initializer}
    missing: dict[str, None] = {}
    names: set[str] = set()
    for value in model.graph.input:
        if value.name in initialized or not value.type.HasField("tensor_type"):
            continue
        for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
            if dimension.HasField("dim_value") and dimension.dim_value > 0:
                continue
            name = dimension.dim_param or f"{value.name}.{axis}"
            names.add(name)
            if name in sizes:
                dimension.dim_value = sizes[name]
            else:
                missing[name] = None
    if missing:
        example = ",".join(f"{name}:8" for name in missing)
        raise InputError(
            f"{path}: the sizes of symbolic dimensions {', '.join(map(excerpt, missing))} are unknown; write "
            f"dims={{{example}}} with yours"
        )
    if unknown := [name for name in sizes if name not in names]:
        has = f"the model has {', '.join(sorted(names))}" if names else "the model has none"
        raise InputError(f"dims names {excerpt(unknown[0])}, but {has}")


@dataclass
class _Values:
    """The tensors of a graph: shapes, bytes of an element, and who makes them."""

    shapes: dict[str, Shape] = field(default_factory=dict)
    element_bytes: dict[str, float] = field(default_factory=dict)
    weights: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)

    def elements(self, name: str) -> int:
        return math.prod(self.shapes[name]) if name in self.shapes else 0

    def bytes(self, name: str) -> float:
        return self.elements(name) * self.element_bytes.get(name, 4)


def _values(model: Any) -> _Values:
    found = _Values()
    graph = model.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        found.element_bytes[value.name] = _element_bytes(tensor.elem_type)
        if tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim):
            found.shapes[value.name] = tuple(d.dim_value for d in tensor.shape.dim)
    for weight in graph.initializer:
        _add_weight(found, weight.name, weight)
    for node in graph.node:
        if node.op_type == "Constant":
            tensor = next((a.t for a in node.attribute if a.name == "value"), None)
            found.shapes.setdefault(node.output[0], () if tensor is None else tuple(tensor.dims))
            if tensor is not None:
                _add_weight(found, node.output[0], tensor)
    return found


def _add_weight(found: _Values, name: str, tensor: Any) -> None:
    found.shapes[name] = tuple(tensor.dims)
    found.element_bytes[name] = _element_bytes(tensor.data_type)
    if tensor.data_type in _FLOATS:
        found.weights.add(name)


_FLOATS = (1, 10, 11, 16, 17, 18, 19, 20, 23)  # of TensorProto.DataType, 8-bit floats among them
_BITS = {1: 32, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16, 4: 16, 5: 16}
_BITS |= {2: 8, 3: 8, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4}


def _element_bytes(kind: int) -> float:
    return _BITS.get(kind, 32) / 8


def _source(name: str, model: Any) -> Source:
    values = _values(model)
    maker: dict[str, int] = {}
    tensors: dict[str, int] = {}
    operators: list[Operator] = []
    edges, sizes, numbers = [], [], []
    counted: set[str] = set()
    for node in model.graph.node:
        if node.op_type == "Constant":
            continue
        number = len(operators)
        inputs = list(dict.fromkeys(_inputs(node)))
        own = [name for name in inputs if name in values.weights and name not in counted]
        counted |= set(own)
        operators.append(_operator(node, inputs, own, values, number))
        for value in inputs:
            if value in maker:
                edges.append((maker[value], number))
                sizes.append(values.bytes(value))
                numbers.append(tensors.setdefault(value, len(tensors)))
        maker |= {output: number for output in node.output if output}
    notes = []
    unknown = [value for value in maker if value not in values.shapes]
    if unknown:
        notes.append(
            f"{name}: the sizes of {len(unknown)} tensors depend on data, such as "
            f"{excerpt(unknown[0])}; they count as 0 bytes"
        )
    return Source(name, tuple(operators), tuple(edges), tuple(sizes), tuple(numbers), notes=tuple(notes))


def _inputs(node: Any) -> Iterator[str]:
    """The tensors that an operator uses, those of its subgraphs too."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from _inputs(inner)


def _operator(node: Any, inputs: list[str], own: list[str], values: _Values, number: int) -> Operator:
    title = node.name or f"{node.op_type}_{number}"
    outputs = [name for name in node.output if name]
    made = sum(values.bytes(name) for name in outputs)
    path = [part for part in title.replace("::", "/").split("/") if part]
    shapes = [values.shapes.get(name) for name in node.input]
    results = [values.shapes.get(name) for name in node.output]
    return Operator(
        title,
        ".".join(path[:-1]),
        flops_of(node, shapes, results),
        sum(values.bytes(name) for name in inputs) + made,
        float(sum(values.elements(name) for name in own)),
        sum(values.bytes(name) for name in own),
        made,
    )
