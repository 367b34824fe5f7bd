"""Collectives within an NVLink domain: a pipelined ring at its best chunk size."""

from __future__ import annotations

import numpy as np

from dse.base.errors import InputError
from dse.inputs.accelerators.kernel_constants import CollectiveConstants
from dse.prediction.kernels.arrays import US, Array, Sizes, floats

OPERATIONS = ("all_gather", "reduce_scatter", "all_reduce", "alltoall")
ALL_TO_ALL_STEPS = 3.0
"""Steps of an all-to-all, whatever the number of ranks: their messages go at once."""


def collective_s(
    operation: str, size_bytes: Sizes, ranks: Sizes, *, link_gbps: float, constants: CollectiveConstants
) -> Array:
    """Return the seconds of a collective, out of place, called back to back.

    `size_bytes` are those of the gathered or scattered tensor, and of a rank's buffer for all_reduce and
    alltoall. A pipeline of st steps that takes a a step, and x to move its bytes in one piece, is fastest at
    x + st a + 2 sqrt(st a x). One rank moves nothing: 0.

    Raises:
        InputError: the operation is none of `OPERATIONS`.
    """
    if operation not in OPERATIONS:
        raise InputError(f"the collective is '{operation}'; allowed are {', '.join(OPERATIONS)}")
    p = floats(ranks)
    own = constants.own_share
    part = floats(size_bytes) / p
    if operation == "all_reduce":
        moved, steps = part * (2 * (p - 1) + own), 2 * (p - 1)
    elif operation == "alltoall":
        moved, steps = part * (p - 1 + 2 * own), np.full_like(p, ALL_TO_ALL_STEPS)
    else:
        moved, steps = part * (p - 1 + own), p - 1
    moving = moved / (link_gbps * 1e9 * constants.share)
    stepping = steps * constants.step_us * US
    seconds = constants.launch_us * US + stepping + moving + 2 * np.sqrt(stepping * moving)
    return np.where(p > 1, seconds, 0.0)
