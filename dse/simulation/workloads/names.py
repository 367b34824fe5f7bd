"""Names of generated operators, nodes and tensors, read back."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Literal

TensorRole = Literal[
    "weight", "optimizer_state", "gradient", "activation", "activation_gradient", "gathered", "received"
]

_NAME = re.compile(
    r"(?P<shadow>shadow_)?(?:batch_(?P<batch>\d+)_)?"
    r"(?:(?P<embedding>in_emb|out_emb)|stack_(?P<layer>\d+)_(?P<half>mha|ffn))"
    r"_(?P<operator>\w+)@(?P<version>[01])(?P<rest>.*)"
)
_TITLES = {"in_emb": "input embedding", "out_emb": "output embedding", "mha": "attention", "ffn": "mlp"}
_WEIGHT = re.compile(r"w[qkvo123]?")
_STATE = re.compile(r"w[qkvo123]?_state")
_GRADIENT = re.compile(r"d_?w[qkvo123]?(_reduced|_shard|_sum)?")
_GATHERED = re.compile(r"\w+_(all|again)")
_FORWARD = re.compile(r"drop(_recomp)?")  # begins with d although it is no gradient
_ROLES: tuple[tuple[re.Pattern[str], TensorRole], ...] = (
    (_WEIGHT, "weight"),
    (_STATE, "optimizer_state"),
    (_GRADIENT, "gradient"),
    (_GATHERED, "gathered"),
    (_FORWARD, "activation"),
)


@dataclass(frozen=True)
class OperatorName:
    """An operator of the model: `stack_3_ffn_x1_recomp@0…` is `x1_recomp` of the mlp of layer 3.

    `layer` is None in the embeddings, `micro_batch` without micro-batches. `is_update` marks the second
    version of a weight and the addition that makes it; `is_shadow` the stand-in of a tensor that another
    pipeline stage makes.
    """

    layer: int | None
    block: str
    operator: str
    is_update: bool
    is_shadow: bool
    micro_batch: int | None = None

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
        """The operator without its place: "x1", "w1 update"; all micro-batches have one label."""
        return f"{self.operator} update" if self.is_update else self.operator

    @property
    def role(self) -> TensorRole:
        """The role of the operator's tensor. Names of backward operators are those that begin with d."""
        if self.is_shadow:
            return "received"
        for pattern, role in _ROLES:
            if pattern.fullmatch(self.operator):
                return role
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
        micro_batch=None if match["batch"] is None else int(match["batch"]),
    )
