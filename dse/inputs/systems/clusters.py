"""Systems that are clusters of accelerators: what the event-driven engine sees of one.

The links inside a node and those of each tier become dimensions of switches on which all collectives are
rings. The engine knows no efficiencies: peak performance and bandwidths are those of the data sheet, so its
times are lower than real ones. Predictions of real steps ask the cluster itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dse.inputs.accelerators import Accelerator, Cluster, TierSpec, cluster
from dse.inputs.systems.fields import CollectiveAlgorithms, Dimension, SystemFields
from dse.inputs.systems.validation import COLLECTIVES

DERIVED = {
    "network": "system.tiers, system.nodes and system.npus_per_node",
    "peak_tflops": "system.accelerator",
    "memory_bandwidth_gbps": "system.accelerator",
}
"""Fields that follow from an accelerator and tiers, and the keys to change instead."""

_GBPS_OF_NETWORK = 2**30 / 10**9  # 10^9 bytes per second in one of the network's GB/s
_HOPS_OF_SWITCH = 2  # to the switch and from it


def derived_fields(
    name: str, accelerator: Accelerator, nodes: int, npus_per_node: int, tiers: Sequence[TierSpec]
) -> dict[str, Any]:
    """Return the fields `network`, `collectives`, `peak_tflops` and `memory_bandwidth_gbps` of a cluster.

    A dimension has the bandwidth that a tier gives one NPU, and half of the tier's latency a hop. Where the
    last tier joins units that are filled in part, these are left out, and all that they join is as far
    apart as the units. A single NPU is the one of a dimension. The peak is that of 16 bit.

    Raises:
        InputError: as `dse.inputs.accelerators.cluster`.
    """
    found = cluster(name, accelerator, nodes, npus_per_node, tiers)
    network = _network(found)
    ring = ("ring",) * len(network)
    return {
        "network": network,
        "collectives": CollectiveAlgorithms(**dict.fromkeys(COLLECTIVES, ring)),
        "peak_tflops": accelerator.peak_tflops[accelerator.format_16bit],
        "memory_bandwidth_gbps": accelerator.memory_bandwidth_gbps,
    }


def fields_of_cluster(system: SystemFields) -> dict[str, Any]:
    """The same for a system; empty if it is no cluster, or not wholly described."""
    if system.accelerator is None or system.nodes is None or system.npus_per_node is None or not system.tiers:
        return {}
    return derived_fields(system.name, system.accelerator, system.nodes, system.npus_per_node, system.tiers)


def _network(found: Cluster) -> tuple[Dimension, ...]:
    tiers = list(found.tiers) if found.npus > 1 else [found.tiers[0]]
    if len(tiers) > 1 and tiers[-1].npus % tiers[-2].npus:
        del tiers[-2]
    below = 1
    dimensions = []
    for tier in tiers:
        if tier.npus > below or found.npus == 1:
            hop_ns = tier.latency_us * 1000 / _HOPS_OF_SWITCH
            count, bandwidth = tier.npus // below, tier.bandwidth_gbps / _GBPS_OF_NETWORK
            dimensions.append(Dimension("Switch", count, bandwidth, hop_ns))
        below = tier.npus
    return tuple(dimensions)
