"""Exchange of tokens with experts, each token once to a rank or a node that has one of its experts."""

from __future__ import annotations

import numpy as np

from dse.inputs.accelerators.kernel_constants import ExchangeConstants
from dse.prediction.kernels.arrays import US, Array, Sizes, floats

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
