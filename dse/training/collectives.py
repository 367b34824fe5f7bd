"""How long collectives of a step take: rings and trees with latency and bandwidth terms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.accelerators.cluster import Cluster
from dse.accelerators.placement import Group, ring_bandwidth_gbps, span

FIXED_S = 22e-6
"""Launch and synchronisation of a collective of any size: 22 to 25 us measured on A100 and B200 NVLink."""

_GATHER = 0.9  # all-gather and reduce-scatter reach .67 where all-reduce reaches .74 (B200, nccl-tests)
_EXCHANGE = 0.8  # all-to-all .60
_BETWEEN_NODES = 0.92  # of the line rate of NICs: InfiniBand and RoCE with GPUDirect


@dataclass(frozen=True)
class Links:
    """The links of a communicator group.

    `bandwidth` is that of a ring through it, `exchange_bandwidth` what each rank sends to all others at once,
    in bytes per second; `latency_s` that of a hop.
    """

    size: int
    bandwidth: float
    latency_s: float
    exchange_bandwidth: float

    @classmethod
    def of(cls, group: Group, cluster: Cluster) -> Links:
        """Return the links of an axis's groups."""
        reached = cluster.accelerator.efficiency.links
        spans = span(group, cluster)
        first = cluster.tiers[0]
        inner = first.bandwidth_gbps * 1e9 * reached
        bandwidth = ring_bandwidth_gbps(group, cluster) * 1e9
        crosses = any(part.senders for part in spans[1:])
        bandwidth = min(inner, bandwidth * _BETWEEN_NODES) if crosses else inner
        used = [tier for tier, part in zip(cluster.tiers, spans, strict=True) if part.senders]
        latency = max([tier.latency_us for tier in used], default=0.0)
        # Of a rank's bytes those for its node pass NVLink; those that leave a unit, the rank's own NIC.
        shares = [(spans[0].members - 1) / inner]
        for below, tier in zip(spans, cluster.tiers[1:], strict=False):
            shares.append((group.size - below.fewest) / (tier.bandwidth_gbps * 1e9 * _BETWEEN_NODES))
        slowest = max(shares)
        exchange = group.size / slowest if slowest else bandwidth
        return cls(group.size, bandwidth, latency * 1e-6, exchange)

    def all_reduce_s(self, size_bytes: float) -> float:
        """The faster of ring and tree.

        A ring moves 2 (p - 1) / p of the bytes in 2 (p - 1) steps (Patarasuk and Yuan 2009); a double binary
        tree the bytes twice, in 2 log2 p steps (Sanders et al. 2009).
        """
        if self.size == 1 or not size_bytes:
            return 0.0
        moved = 2 * size_bytes / self.bandwidth
        ring = (self.size - 1) / self.size * moved + 2 * (self.size - 1) * self.latency_s
        tree = moved + 2 * math.log2(self.size) * self.latency_s
        return FIXED_S + min(ring, tree)

    def gather_s(self, size_bytes: float) -> float:
        """All-gather or reduce-scatter of `size_bytes`: (p - 1) / p of them pass every link of the ring."""
        if self.size == 1 or not size_bytes:
            return 0.0
        moved = (self.size - 1) / self.size * size_bytes / (self.bandwidth * _GATHER)
        return (
            FIXED_S + moved + min((self.size - 1) * self.latency_s, 2 * math.log2(self.size) * self.latency_s)
        )

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
        return 0.5 * FIXED_S + self.latency_s + size_bytes / self.bandwidth
