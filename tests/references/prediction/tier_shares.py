"""The share that each tier of a cluster contributes to a collective that goes tier by tier."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.inputs.accelerators.algorithms import BY_TIERS
from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.strategies.divisibility import InfeasibleStrategy
from tests.references.prediction.placement import MOST_AT_SWITCH, Group, span

BETWEEN_NODES = 0.92
"""Of the line rate of NICs: InfiniBand and RoCE with GPUDirect."""

THROUGH_CPUS = 1 / 3
"""Of the same from an NPU that is not next to the NIC, as an assumption.

Of an all-to-all of 8 GPUs that share a NIC, where 3 GB/s each were expected and 1 seen, NCCL's maintainer
says that most reach it through the CPU (https://github.com/NVIDIA/nccl/issues/687).
"""


MOST_SYNTHESIZED = 256
"""Ranks of a group whose collectives can be synthesised: some seconds are spent on its schedules."""


@dataclass(frozen=True)
class Leg:
    """A tier that joins `size` units of a group (tier 0: ranks); all NPUs of a unit send at once.

    `bandwidth` is what each reaches, in bytes per second. `summing_bandwidth` is the bytes of an all-reduce
    per second where its switches sum, 0 where they do not. `latency_s` is that of one message.
    """

    size: int
    bandwidth: float
    latency_s: float
    summing_bandwidth: float


def own_rates(cluster: Cluster) -> list[float]:
    """The rate that an NPU sends into each tier beyond the first if all do, in bytes per second."""
    rates = []
    for index, tier in enumerate(cluster.tiers[1:], 1):
        rate = tier.bandwidth_gbps * 1e9 * BETWEEN_NODES
        if cluster.nics and cluster.nics.npus_each > MOST_AT_SWITCH and index >= cluster.nics.tier:
            rate = min(rate, own_nic_rate(cluster))
        rates.append(rate)
    return rates


def own_nic_rate(cluster: Cluster) -> float:
    """An NPU's rate out of its node in bytes per second: its share of a NIC, however many others send."""
    if cluster.nics is None:
        return cluster.tiers[1].bandwidth_gbps * 1e9 * BETWEEN_NODES
    share = THROUGH_CPUS if cluster.nics.npus_each > MOST_AT_SWITCH else BETWEEN_NODES
    return cluster.nics.bandwidth_gbps * 1e9 * share


def legs_of(group: Group, cluster: Cluster, algorithm: str) -> tuple[Leg, ...]:
    """Return the tiers that join an axis's groups, from the inside; none for rings and trees.

    Raises:
        InfeasibleStrategy: units have different numbers of a group's ranks, switches have to sum that do not,
            or a group is too large for schedules of its own.
    """
    if group.size == 1 or algorithm not in BY_TIERS:
        return ()
    if algorithm == "synthesized" and group.size > MOST_SYNTHESIZED:
        raise InfeasibleStrategy(
            f"collectives of {group.size} ranks are synthesized (system.group_algorithms); at most "
            f"{MOST_SYNTHESIZED} ranks can have that: choose auto, ring, tree or hierarchical"
        )
    spans = span(group, cluster)
    joins = [part.joins for part in spans]
    if math.prod(joins) != group.size or any(part.members != part.fewest for part in spans):
        raise InfeasibleStrategy(
            f"collectives of {group.size} ranks are {algorithm} (system.group_algorithms), but parts of the "
            "cluster have different numbers of them: choose auto, ring or tree"
        )
    legs = []
    reached = [
        cluster.tiers[0].bandwidth_gbps * 1e9 * cluster.accelerator.efficiency.links,
        *own_rates(cluster),
    ]
    for index, tier in enumerate(cluster.tiers):
        if joins[index] == 1:
            continue
        share = tier.in_switch_efficiency
        if share is None and algorithm == "in_switch":
            raise InfeasibleStrategy(
                f"collectives of {group.size} ranks are in_switch (system.group_algorithms), but pass "
                f"{tier.name}, whose switches do not sum: its in_switch_efficiency is null"
            )
        summing = tier.bandwidth_gbps * 1e9 * (share or 0.0)
        legs.append(Leg(joins[index], reached[index], tier.latency_us * 1e-6, summing))
    return tuple(legs)
