"""Floating-point operations of ONNX operators from the shapes of their inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Shape = tuple[int, ...]
Shapes = Sequence[Shape | None]

_FREE_NAMES = (
    "Cast CastLike Concat Constant ConstantOfShape DepthToSpace Expand EyeLike Flatten Gather GatherElements "
    "GatherND Identity Loop If NonZero OneHot Pad Range Reshape Scan Scatter ScatterElements ScatterND Shape "
    "Size Slice SpaceToDepth Split SplitToSequence Squeeze Tile Transpose Trilu Unsqueeze Where"
)
_FREE = frozenset(_FREE_NAMES.split())
# Operations for each element that is made: a mean, a variance, a root … each count as one.
_FOR_EACH = {
    "Softmax": 5,
    "LogSoftmax": 6,
    "LayerNormalization": 8,
    "InstanceNormalization": 8,
    "GroupNormalization": 8,
    "RMSNormalization": 5,
    "BatchNormalization": 2,
    "Gelu": 8,
    "Sigmoid": 4,
    "Tanh": 5,
    "HardSwish": 4,
}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def flops_of(node: Any, inputs: Shapes, outputs: Shapes) -> float:
    """Return the operations of a node, a multiply-add as two; 0 where a shape that matters is unknown.

    Products are exact; everything else counts a few operations an element, copies none.
    """
    made = float(sum(math.prod(shape) for shape in outputs if shape is not None))
    kind = node.op_type
    if kind in _FREE:
        return 0.0
    if kind in _PRODUCTS:
        return _product(node, inputs, outputs, made)
    if kind.startswith(("Reduce", "ArgM", "Global")):
        return float(math.prod(inputs[0])) if inputs and inputs[0] is not None else 0.0
    if kind.endswith("Pool"):
        return made * math.prod(_list(node, "kernel_shape"))
    return made * _FOR_EACH.get(kind, 1)


_MATRICES = ("MatMul", "MatMulInteger", "QLinearMatMul")
_PRODUCTS = {*_MATRICES, *_GATES, "Gemm", "Conv", "ConvInteger", "ConvTranspose", "Einsum", "Attention"}


def _product(node: Any, inputs: Shapes, outputs: Shapes, made: float) -> float:
    kind = node.op_type
    if not outputs or len(inputs) < 1 or inputs[0] is None:
        return 0.0
    first, second = inputs[0], inputs[1] if len(inputs) > 1 else None
    if kind in _MATRICES:
        return 2.0 * made * first[-1] if first else 0.0
    if kind == "Gemm":
        return 2.0 * made * first[0 if _integer(node, "transA") else 1]
    if kind == "Einsum":
        return _einsum(node, inputs)
    if second is None:
        return 0.0
    if kind in ("Conv", "ConvInteger"):  # weights are (outputs, inputs / groups, kernel …)
        return 2.0 * made * math.prod(second[1:])
    if kind == "ConvTranspose":  # weights are (inputs, outputs / groups, kernel …)
        return 2.0 * math.prod(first) * math.prod(second[1:])
    if kind == "Attention":  # queries times keys, and weights times values
        keys = second[-2]
        return 4.0 * math.prod(first) * keys
    # Recurrent: (length, batch, width), weights (directions, gates · hidden, width).
    hidden = second[1] // _GATES[kind]
    return 2.0 * first[0] * first[1] * second[0] * second[1] * (first[2] + hidden)


def _einsum(node: Any, inputs: Shapes) -> float:
    equation = next((a.s.decode() for a in node.attribute if a.name == "equation"), "").replace(" ", "")
    sizes: dict[str, int] = {}
    for labels, shape in zip(equation.partition("->")[0].split(","), inputs, strict=False):
        if shape is not None and len(labels) == len(shape):
            sizes.update(zip(labels, shape, strict=True))
    return 2.0 * math.prod(sizes.values()) if sizes else 0.0


def _integer(node: Any, name: str) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), 0)


def _list(node: Any, name: str) -> list[int]:
    return next((list(a.ints) for a in node.attribute if a.name == name), [])
