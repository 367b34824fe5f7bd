"""Collectives within an NVLink domain: a pipelined ring at its best chunk size.

Exchange of tokens with experts, each token once to a rank or a node that has one of its experts.
"""

from __future__ import annotations

import numpy as np

from dse.base.errors import InputError
from dse.inputs.accelerators.kernel_constants import CollectiveConstants, ExchangeConstants
from dse.prediction.kernels.machine import US, Array, Sizes, floats

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


DISPATCH_BYTES = 1 + 4 / 128
"""Bytes of a feature on the way to experts: fp8 with a scale of 4 bytes for 128 features."""

COMBINE_BYTES = 2.0
"""Bytes of a feature on the way back: bf16."""


def distinct_units(units: Sizes, experts: Sizes, topk: Sizes) -> Array:
    """Return how many of `units` ranks (or nodes) a token reaches, on average, if its experts are random.

    `experts` are spread evenly over the units. A unit is reached by 1 - C(E - E/u, k) / C(E, k) of tokens.
    """
    u, e, k = np.broadcast_arrays(floats(units), floats(experts), floats(topk))
    missed = np.ones_like(e)
    others = e - e / u
    for chosen in range(int(k.max(initial=0))):
        still = np.where(chosen < k, np.maximum(others - chosen, 0) / np.maximum(e - chosen, 1), 1.0)
        missed = missed * still
    reached: Array = u * (1 - missed)
    return reached


def exchange_in_node_s(
    tokens: Sizes,
    hidden: Sizes,
    experts: Sizes,
    topk: Sizes,
    *,
    ranks: Sizes,
    feature_bytes: float,
    link_gbps: float,
    constants: ExchangeConstants,
) -> Array:
    """Return the seconds in which `tokens` of each rank reach (or leave) experts on `ranks` of one node."""
    copies = distinct_units(ranks, experts, topk) + constants.own_share
    moved = floats(tokens) * floats(hidden) * feature_bytes * copies
    return moved / (link_gbps * 1e9 * constants.share) + constants.launch_us * US


def exchange_between_nodes_s(
    tokens: Sizes,
    hidden: Sizes,
    experts: Sizes,
    topk: Sizes,
    *,
    nodes: Sizes,
    feature_bytes: float,
    nic_gbps: float,
    constants: ExchangeConstants,
) -> Array:
    """Return the seconds of the exchange over several nodes, a NIC a rank: the links within are faster.

    A token crosses to each other node that has one of its experts once.
    """
    n = floats(nodes)
    copies = distinct_units(n, experts, topk) * (n - 1) / n
    moved = floats(tokens) * floats(hidden) * feature_bytes * copies
    return moved / (nic_gbps * 1e9 * constants.share) + constants.launch_us * US
