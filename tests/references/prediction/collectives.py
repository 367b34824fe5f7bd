"""How long collectives of a step take: rings, trees, tier by tier, in switches; latency and bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from dse.inputs.accelerators.cluster import Cluster
from tests.references.prediction import synthesized
from tests.references.prediction.placement import Group, far_rate_gbps, ring_rates_gbps, span
from tests.references.prediction.tier_shares import (
    BETWEEN_NODES,
    THROUGH_CPUS,
    Leg,
    legs_of,
    own_nic_rate,
    own_rates,
)

FIXED_S = 22e-6
"""Launch and synchronisation of a collective of any size: 22 to 25 us measured on A100 and B200 NVLink."""

_GATHER = 0.9  # all-gather and reduce-scatter reach .67 where all-reduce reaches .74 (B200, nccl-tests)
_EXCHANGE = 0.71  # all-to-all .60 of .74 in nccl-tests; in steps with experts less, as sizes differ


@dataclass(frozen=True)
class Links:
    """The links of a communicator group.

    `bandwidth` is that of a ring through it, `message_bandwidth` that of messages to the next rank, which
    each sends through the NIC that is its own, `exchange_bandwidth` what each rank sends to all others at
    once, in bytes per second; `latency_s` that of a hop. `algorithm` is one of
    `dse.inputs.accelerators.algorithms`, `legs` the tiers of those that go tier by tier.
    """

    size: int
    bandwidth: float
    latency_s: float
    exchange_bandwidth: float
    message_bandwidth: float
    algorithm: str = "auto"
    legs: tuple[Leg, ...] = ()

    @classmethod
    def of(cls, group: Group, cluster: Cluster, algorithm: str = "auto") -> Links:
        """Return the links of an axis's groups.

        Raises:
            InfeasibleStrategy: the groups cannot have that algorithm (`legs_of`).
        """
        reached = cluster.accelerator.efficiency.links
        spans = span(group, cluster)
        first = cluster.tiers[0]
        inner = first.bandwidth_gbps * 1e9 * reached
        between = [rate * 1e9 for rate in ring_rates_gbps(group, cluster)[1:]]
        messages = bandwidth = min([inner, *(rate * BETWEEN_NODES for rate in between)])
        if far := far_rate_gbps(group, cluster):
            bandwidth = min(bandwidth, far * 1e9 * THROUGH_CPUS)
        leaves = between[cluster.nics.tier - 1 :] if cluster.nics else between
        if min(leaves, default=math.inf) < math.inf:
            messages = min(messages, own_nic_rate(cluster))  # switches above are shared by those who send
        used = [tier for tier, part in zip(cluster.tiers, spans, strict=True) if part.senders]
        latency = max([tier.latency_us for tier in used], default=0.0)
        # Of a rank's bytes those for its node pass NVLink; those that leave a unit, the rank's own NIC.
        shares = [(spans[0].members - 1) / inner]
        shares += [
            (group.size - below.fewest) / rate for below, rate in zip(spans, own_rates(cluster), strict=False)
        ]
        slowest = max(shares)
        exchange = group.size / slowest if slowest else bandwidth
        legs = legs_of(group, cluster, algorithm)
        return cls(group.size, bandwidth, latency * 1e-6, exchange, messages, algorithm, legs)

    def all_reduce_s(self, size_bytes: float) -> float:
        """By the algorithm of the group; `auto` is the faster of ring and tree.

        A ring moves 2 (p - 1) / p of the bytes in 2 (p - 1) steps (Patarasuk and Yuan 2009); a double binary
        tree the bytes twice, in 2 log2 p steps (Sanders et al. 2009). Tier by tier, bytes are scattered
        inside a unit, summed across by ranks of the same place, and gathered inside (Cho et al. 2019).
        Switches take each byte once from each rank, and give it back once, summed (Graham et al. 2016).
        Synthesised ones scatter and gather by schedules for the links of the group, or are a ring or tree
        where that is faster.
        """
        if self.size == 1 or not size_bytes:
            return 0.0
        if self.algorithm == "hierarchical":
            *lower, top = self._stages
            held = size_bytes
            total = 0.0
            for one in lower:
                total += 2 * one.gather_s(held)
                held /= one.size
            return total + top.all_reduce_s(held)
        if self.algorithm == "in_switch":
            return FIXED_S + self._hops_s(2) + self._slowest_s(size_bytes, scattered=False)
        ring, tree = self._ring_and_tree_s(size_bytes)
        found = {"ring": ring, "tree": tree}.get(self.algorithm, min(ring, tree))
        if self.algorithm == "synthesized":
            found = min(found, 2 * synthesized.gather_s(self.legs, size_bytes))
        return FIXED_S + found

    def gather_s(self, size_bytes: float) -> float:
        """All-gather or reduce-scatter of `size_bytes`: (p - 1) / p of them pass every link of the ring.

        With trees and in switches no fewer: each rank must get, or give away, all but its own share.
        """
        if self.size == 1 or not size_bytes:
            return 0.0
        if self.algorithm == "hierarchical":
            total, held = 0.0, size_bytes
            for one in self._stages:
                total += one.gather_s(held)
                held /= one.size
            return total
        if self.algorithm == "in_switch":
            return FIXED_S + self._hops_s(1) + self._slowest_s(size_bytes, scattered=True)
        moved = (self.size - 1) / self.size * size_bytes / (self.bandwidth * _GATHER)
        ring, tree = (self.size - 1) * self.latency_s, 2 * math.log2(self.size) * self.latency_s
        found = moved + {"ring": ring, "tree": tree}.get(self.algorithm, min(ring, tree))
        if self.algorithm == "synthesized":
            found = min(found, synthesized.gather_s(self.legs, size_bytes / _GATHER))
        return FIXED_S + found

    def used(self, size_bytes: float) -> str:
        """The algorithm of an all-reduce: of `auto` the faster one."""
        if self.algorithm != "auto":
            return self.algorithm
        ring, tree = self._ring_and_tree_s(size_bytes)
        return "ring" if ring <= tree else "tree"

    def exchange_s(self, size_bytes: float) -> float:
        """All-to-all of `size_bytes` a rank, a p-th of them for each.

        With q ranks in a node (q - 1) / p of them pass NVLink and (p - q) / p the rank's own NIC, both at
        once.
        """
        if self.size == 1 or not size_bytes:
            return 0.0
        return FIXED_S + self.latency_s + size_bytes / (self.exchange_bandwidth * _EXCHANGE)

    def send_s(self, size_bytes: float) -> float:
        """A message to the next rank of the group."""
        return 0.5 * FIXED_S + self.latency_s + size_bytes / self.message_bandwidth

    def pass_around_s(self, size_bytes: float) -> float:
        """An all-gather of `size_bytes` by messages to the next rank (ring attention, Liu et al. 2023)."""
        if self.size == 1 or not size_bytes:
            return 0.0
        moved = (self.size - 1) / self.size * size_bytes / (self.message_bandwidth * _GATHER)
        return FIXED_S + (self.size - 1) * self.latency_s + moved

    def _ring_and_tree_s(self, size_bytes: float) -> tuple[float, float]:
        moved = 2 * size_bytes / self.bandwidth
        ring = (self.size - 1) / self.size * moved + 2 * (self.size - 1) * self.latency_s
        return ring, moved + 2 * math.log2(self.size) * self.latency_s

    @cached_property
    def _stages(self) -> tuple[Links, ...]:
        """A collective of its own on each tier, the faster of ring and tree."""
        return tuple(
            Links(leg.size, leg.bandwidth, leg.latency_s, leg.bandwidth, leg.bandwidth) for leg in self.legs
        )

    def _hops_s(self, passes: int) -> float:
        """`passes` messages on each tier, on the last a single one: its switches turn the bytes around."""
        below = sum(leg.latency_s for leg in self.legs[:-1])
        return passes * below + self.legs[-1].latency_s

    def _slowest_s(self, size_bytes: float, *, scattered: bool) -> float:
        """Time on the slowest tier, through which pieces follow each other."""
        held, slowest = size_bytes, 0.0
        for leg in self.legs:
            if scattered:
                seconds = (leg.size - 1) / leg.size * held / (leg.bandwidth * _GATHER)
            else:
                seconds = held / leg.summing_bandwidth
            slowest = max(slowest, seconds)
            held /= leg.size
        return slowest
