"""Mixed clusters: hosts of several GPU types, their memory, and the links inside and between hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Host:
    """One machine: GPUs of one type.

    `intra_gbps` and `inter_gbps` are the bandwidths in GB/s of one GPU inside the host and of the host's
    uplink. `island` numbers the third tier: hosts of different islands meet over the cluster's
    `between_islands_gbps`.
    """

    address: str
    type: str
    gpus: int
    intra_gbps: float
    inter_gbps: float
    island: int = 0


@dataclass(frozen=True)
class MixedCluster:
    """Hosts in their order, and what is known of each GPU type.

    `memory_gib` is the memory of one GPU per type, in GiB; `price_per_hour` the cost of one GPU-hour per type
    (empty: unknown), `peak_tflops` the peak of one GPU per type in dense 16-bit products (empty: unknown).
    `between_islands_gbps` is None where there is one island only.
    """

    hosts: tuple[Host, ...]
    memory_gib: Mapping[str, float]
    price_per_hour: Mapping[str, float] = field(default_factory=dict)
    between_islands_gbps: float | None = None
    peak_tflops: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def gpus(self) -> int:
        """Number of GPUs."""
        return sum(host.gpus for host in self.hosts)

    @property
    def hourly_price(self) -> float | None:
        """Price of an hour of all GPUs; None where prices are unknown."""
        prices = self.price_per_hour
        return sum(self.gpus_of(type_) * prices[type_] for type_ in self.types) if prices else None

    @property
    def types(self) -> tuple[str, ...]:
        """Types in the order in which hosts name them first."""
        return tuple(dict.fromkeys(host.type for host in self.hosts))

    def gpus_of(self, type_: str) -> int:
        """Number of GPUs of a type."""
        return sum(host.gpus for host in self.hosts if host.type == type_)
