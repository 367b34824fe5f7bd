"""Precision recipes: how the operands of products with weights are scaled to a format."""

from __future__ import annotations

from typing import NamedTuple


class Precision(NamedTuple):
    """A recipe: `format` is its key in the peaks of an accelerator, `bits` those of an operand.

    Recipes of one format are predicted alike: published steps do not tell their casts apart.
    """

    format: str
    bits: int


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
