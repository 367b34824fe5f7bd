"""Fused attention, causal, forward: the rate grows with the sequence and the width of heads."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from dse.inputs.accelerators.kernel_constants import AttentionConstants
from dse.prediction.kernels.machine import US, Array, Sizes, floats

_FULL_WIDTH = 128  # of a head, for which the kernels are made
_TILE_ROWS = 128  # queries of a tile
_RESULT_BYTES = 2.0
OPERAND_BYTES = MappingProxyType({"bf16": 2.0, "fp8": 1.0})
"""Bytes of an element of queries, keys and values, by precision; results are bf16."""

WIDEST_HEAD = 256
"""Wider heads run in kernels of another kind."""


def attention_s(
    batch: Sizes,
    sequence: Sizes,
    heads: Sizes,
    kv_heads: Sizes,
    head_dim: Sizes,
    *,
    precision: str,
    peak_tflops: float,
    memory_gbps: float,
    multiprocessors: int,
    constants: AttentionConstants,
    writes_cache: bool = False,
) -> Array:
    """Return the seconds of a layer's causal attention over `batch` sequences, in a burst.

    Operations are those of the causal half. The tile that ends last adds `tile_share` of its time. With
    `writes_cache`, keys and values are read and written once more and the kernel's own start counts, as in
    inference. Training keeps neither.
    """
    b, s, d = floats(batch), floats(sequence), floats(head_dim)
    h, g = floats(heads), floats(kv_heads)
    rate = peak_tflops * 1e12 * constants.share
    exponent = np.where(d < _FULL_WIDTH, constants.head_exponent, constants.wide_exponent)
    width = (_FULL_WIDTH / d) ** exponent
    tile = 4 * _TILE_ROWS * (s + constants.half_sequence) * d * width * multiprocessors / rate
    operations = 2 * b * s**2 * h * d * (1 + constants.half_sequence / s) * width
    computing = operations / rate + constants.tile_share * tile
    memory = memory_gbps * 1e9 * constants.memory_share
    element = OPERAND_BYTES[precision]
    moving = b * s * d * (element * (h + 2 * g) + _RESULT_BYTES * h) / memory
    seconds: Array = np.maximum(computing, moving)
    if writes_cache:
        seconds = seconds + 4 * element * b * s * g * d / memory + constants.launch_us * US
    return seconds
