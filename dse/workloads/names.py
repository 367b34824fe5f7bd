"""Names of generated operators, nodes and tensors, read back (workload specification, 4, 5 and 9)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

TensorRole = Literal["weight", "gradient", "activation", "activation_gradient", "received"]

_NAME = re.compile(
    r"(?P<shadow>shadow_)?"
    r"(?:(?P<embedding>in_emb|out_emb)|stack_(?P<layer>\d+)_(?P<half>mha|ffn))"
    r"_(?P<operator>\w+)@(?P<version>[01])(?P<rest>.*)"
)
_TITLES = {"in_emb": "input embedding", "out_emb": "output embedding", "mha": "attention", "ffn": "mlp"}
_WEIGHTS = {"w", "wq", "wk", "wv", "w1", "w2"}
_GRADIENTS = {"dw", "d_wq", "d_wk", "d_wv", "dw1", "dw2"}


@dataclass(frozen=True)
class OperatorName:
    """An operator of the model: `stack_3_ffn_x1_recomp@0…` is `x1_recomp` of the mlp of layer 3.

    `layer` is None in the embeddings. `is_update` marks the second version of a weight and the addition that
    makes it; `is_shadow` the stand-in of a tensor that another pipeline stage makes.
    """

    layer: int | None
    block: str
    operator: str
    is_update: bool
    is_shadow: bool

    @property
    def is_recompute(self) -> bool:
        """Whether the operator repeats one of the forward pass in the backward pass."""
        return self.operator.endswith("_recomp")

    @property
    def place(self) -> str:
        """Where it is, for people: "layer 3 mlp"."""
        return self.block if self.layer is None else f"layer {self.layer} {self.block}"

    @property
    def title(self) -> str:
        """Place and operator, for people: "layer 3 mlp x1", "layer 3 mlp w1 update"."""
        return f"{self.place} {self.label}"

    @property
    def label(self) -> str:
        """The operator without its place: "x1", "w1 update"."""
        return f"{self.operator} update" if self.is_update else self.operator

    @property
    def role(self) -> TensorRole:
        """What the operator's tensor is. Names of backward operators are those that begin with d."""
        if self.is_shadow:
            return "received"
        if self.operator in _WEIGHTS:
            return "weight"
        if self.operator in _GRADIENTS:
            return "gradient"
        return "activation_gradient" if self.operator.startswith("d") else "activation"


@functools.lru_cache(maxsize=1 << 16)
def parse_name(text: str) -> OperatorName | None:
    """Return the operator that a node or tensor is named after; None for names that others chose."""
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    layer = match["layer"]
    return OperatorName(
        layer=None if layer is None else int(layer),
        block=_TITLES[match["embedding"] or match["half"]],
        operator=match["operator"],
        is_update=match["version"] == "1",
        is_shadow=match["shadow"] is not None,
    )
