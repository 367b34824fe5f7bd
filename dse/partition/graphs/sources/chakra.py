"""Chakra execution traces as graphs, and those that we generate for a model of conf/model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.strategies.native import native_model
from dse.native import _engine
from dse.partition.graphs.sources.source import Operator, Source
from dse.simulation.workloads import generate, parse_name

_Node = Mapping[str, Any]
_FORWARD = "activation"


def read_chakra(path: Path) -> Source:
    """Read the trace of one rank: every node, forward and backward, with its operations and bytes.

    An edge is a dependency (data or control) and carries what the node before it makes: the first of its
    outputs where the trace says them (others, such as the mask of a dropout, stay where they are made), else
    its `comm_size`. A node without `num_ops` has its duration.

    Raises:
        InputError: an unreadable, truncated or malformed file (file, byte offset, reason).
    """
    nodes = _engine.read_trace_file(str(path)).nodes()
    return _source(str(path), nodes, backward=0.0)


def model_source(model: ModelSpec) -> Source:
    """Return the operators of the forward pass of a model, without parallelism, as its workload has them.

    The backward pass goes into `backward`: its operations over those of the forward pass.
    """
    nodes = _engine.parse_trace(generate(model, Strategy()).trace_bytes(0), model.name).nodes()
    forward = [node for node in nodes if _is_forward(node)]
    both = [sum(float(_value(node, "num_ops", 0)) for node in some) for some in (nodes, forward)]
    source = _source(model.name, forward, backward=both[0] / both[1] - 1 if both[1] else 2.0)
    each = native_model(model, Strategy()).fidelity.bytes_per_element
    operators = (replace(one, parameters=one.parameter_bytes / each) for one in source.operators)
    return replace(source, operators=tuple(operators))


def _is_forward(node: _Node) -> bool:
    operator = parse_name(node["name"].removesuffix("_COMP"))
    return (
        operator is not None
        and operator.role == _FORWARD
        and not (operator.is_recompute or operator.is_update or operator.operator == "d_loss")
    )


def _source(name: str, nodes: Sequence[_Node], backward: float) -> Source:
    number_of = {node["id"]: number for number, node in enumerate(nodes)}
    edges, sizes, tensors = [], [], []
    outputs = [_output_bytes(node) for node in nodes]
    for number, node in enumerate(nodes):
        for dependency in dict.fromkeys([*node["data_deps"], *node["ctrl_deps"]]):
            if dependency in number_of:
                before = number_of[dependency]
                edges.append((before, number))
                sizes.append(outputs[before])
                tensors.append(before)
    operators = tuple(_operator(node, size) for node, size in zip(nodes, outputs, strict=True))
    return Source(name, operators, tuple(edges), tuple(sizes), tuple(tensors), backward=backward)


def _operator(node: _Node, output_bytes: float) -> Operator:
    operator = parse_name(node["name"].removesuffix("_COMP"))
    weights = [(text, float(size)) for text, size in _tensors(node, "inputs") if _is_weight(text)]
    flops = float(_value(node, "num_ops", 0))
    return Operator(
        node["name"] if operator is None else operator.title,
        "" if operator is None else operator.place.replace(".", "_"),
        flops,
        float(_value(node, "tensor_size", 0)),
        # Of the bytes of a weight the trace does not say how many an element has.
        sum(size for _, size in weights),
        sum(size for _, size in weights),
        output_bytes,
        None if flops else 1000.0 * node["duration_micros"],
        str(node["id"]),
    )


def _is_weight(text: str) -> bool:
    operator = parse_name(text)
    return operator is not None and operator.role == "weight"


def _output_bytes(node: _Node) -> float:
    outputs = [float(size) for _, size in _tensors(node, "outputs")]
    return outputs[0] if outputs else float(_value(node, "comm_size", 0))


def _tensors(node: _Node, key: str) -> list[tuple[str, str]]:
    """Return tensors and their bytes: the texts of an attribute, one after the other."""
    texts = _value(node, key, [])
    return list(zip(texts[::2], texts[1::2], strict=False)) if isinstance(texts, list) else []


def _value(node: _Node, key: str, default: Any) -> Any:
    attribute = node["attributes"].get(key)
    return default if attribute is None else attribute[1]
