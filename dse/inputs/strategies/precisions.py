"""Precision recipes: the format of products with weights, and how their operands are cast to it."""

from __future__ import annotations

from typing import NamedTuple


class Precision(NamedTuple):
    """A recipe: `format` is its key in the peaks of an accelerator, `bits` those of an operand.

    The kernel before a product writes its input in this format, too. A transpose, a scan for the largest
    value, or a second scaling along the other side read and write it further times: `extra_bytes` per
    element of the input on the way forward, and of the gradient on the way back.
    """

    format: str
    bits: int
    extra_bytes: float = 0.0


PRECISIONS = {
    "bf16": Precision("bf16", 16),
    "fp16": Precision("fp16", 16),
    "fp8": Precision("fp8", 8),
    "fp4": Precision("fp4", 4),
    "fp8_delayed": Precision("fp8", 8),
    "fp8_block": Precision("fp8", 8),
    "mxfp8": Precision("fp8", 8),
}
"""By name: fp8 scales each tensor by its own largest value, fp8_delayed by earlier ones, fp8_block and mxfp8
scale blocks of 128 and 32 elements. fp4 is NVFP4."""
