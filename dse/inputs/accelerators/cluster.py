"""Accelerators in nodes behind tiers of switches: which links a communicator group has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dse.base.errors import InputError
from dse.base.settings.schemas import stated
from dse.inputs.accelerators.accelerator import Accelerator
from dse.inputs.accelerators.algorithms import DEFAULT_ALGORITHMS, GroupAlgorithms

MAX_NPUS = 2**24  # of a system
_POSITIVE = (
    "latency_us",  # may be 0
    "npus",
    "bandwidth_gbps",
    "nics_per_node",
    "nic_gbit_per_s",
    "oversubscription",
)


@dataclass(frozen=True)
class Tier:
    """One level of the network; tier 0 joins the NPUs of a node, the next the nodes, and so on.

    `npus` NPUs are joined by this tier and those below it. `bandwidth_gbps` is what one NPU can send into it,
    in 10^9 bytes per second and direction (NICs that NPUs share are divided among them, a tier with
    oversubscription is slower by that factor). `latency_us` is that of one message. `in_switch_efficiency`
    is the share of the bandwidth at which its switches sum what NPUs send; None if they do not.
    """

    name: str
    npus: int
    bandwidth_gbps: float
    latency_us: float
    in_switch_efficiency: float | None = None


@dataclass(frozen=True)
class Nics:
    """NICs of each node: NPUs next to each other, `npus_each`, share one.

    What leaves for the tiers from `tier` on passes them; an NPU can send `bandwidth_gbps` (10^9 bytes per
    second) with its share of one.
    """

    tier: int
    npus_each: int
    bandwidth_gbps: float


def divided_nics(tier: int, count: int, npus_per_node: int, node_gbps: float) -> Nics:
    """Return `count` NICs that together send `node_gbps`; the NPUs at each divide those of the node.

    >>> [divided_nics(1, count, 8, 100.0).npus_each for count in (1, 2, 3, 4, 5, 8, 9)]
    [8, 4, 4, 2, 2, 1, 1]
    """
    used = min(count, npus_per_node)
    while npus_per_node % used:
        used -= 1
    return Nics(tier, npus_per_node // used, node_gbps / npus_per_node)


@dataclass(frozen=True)
class TierSpec:
    """A tier as configuration has it, for any number of nodes.

    One of these says how fast an NPU sends into it: `bandwidth_gbps`, or `nics_per_node` NICs of
    `nic_gbit_per_s`; without, it is the rate of the tier below. `in_switch_efficiency` is bytes of an
    all-reduce / time / what an NPU sends into the tier, for large messages.
    """

    name: str = field(
        metadata=stated("text; a tier of a cluster, from the inside, see [clusters.md](clusters.md)")
    )
    latency_us: float = field(metadata=stated("µs of a message"))
    npus: int | None = field(
        default=None,
        metadata=stated(
            "NPUs that it joins with those below; null: of the first tier those of a node, of the last all"
        ),
    )
    bandwidth_gbps: float | None = field(
        default=None,
        metadata=stated(
            "10⁹ bytes per second and direction that an NPU sends into it; null: by NICs, or as the "
            "tier below"
        ),
    )
    nics_per_node: int | None = field(
        default=None, metadata=stated("NICs that the NPUs of a node share, instead of `bandwidth_gbps`")
    )
    nic_gbit_per_s: float | None = field(
        default=None, metadata=stated("10⁹ bits per second and direction of a NIC")
    )
    oversubscription: float = field(default=1.0, metadata=stated("divides the bandwidth, at least 1"))
    in_switch_efficiency: float | None = field(
        default=None,
        metadata=stated(
            "share of the bandwidth at which its [switches sum](clusters.md#algorithms-of-collectives); "
            "null: they do not"
        ),
    )

    def __post_init__(self) -> None:
        """Check every field; messages name the key below the tier."""
        nics = (self.nics_per_node, self.nic_gbit_per_s)
        if None in nics and nics != (None, None):
            raise InputError(f"tier {self.name}: nics_per_node and nic_gbit_per_s belong together; give both")
        if self.bandwidth_gbps is not None and self.nics_per_node is not None:
            raise InputError(
                f"tier {self.name} has both bandwidth_gbps and NICs; give one of them, null for the others"
            )
        for key in _POSITIVE:
            value = getattr(self, key)
            if value is not None and not (0 < value < math.inf or (key == "latency_us" and value == 0)):
                least = "0 or greater" if key == "latency_us" else "greater than 0"
                raise InputError(f"tier {self.name}: {key} is {value}; it must be a number {least}")
        if self.oversubscription < 1:
            raise InputError(
                f"tier {self.name}: oversubscription is {self.oversubscription}; it must be at least 1"
            )
        share = self.in_switch_efficiency
        if share is not None and not 0 < share <= 1:
            raise InputError(
                f"tier {self.name}: in_switch_efficiency is {share}; it must be above 0 and at most 1, or "
                "null for switches that reduce nothing"
            )


@dataclass(frozen=True)
class Cluster:
    """Equal accelerators; `tiers` from the inside, the last one joins all. `algorithms` are those of groups.

    `nics` are those of a node; None means that each NPU is as near to the network as any other.

    The last unit of the last tier but one may be filled in part: 16,384 NPUs in pods of 3,072.

    Raises:
        InputError: a tier does not join whole units of the one below.
    """

    name: str
    accelerator: Accelerator
    tiers: tuple[Tier, ...]
    algorithms: GroupAlgorithms = DEFAULT_ALGORITHMS
    nics: Nics | None = None

    def __post_init__(self) -> None:
        """Check that the tiers nest."""
        if not self.tiers:
            raise InputError(f"cluster {self.name} has no tiers; it must have at least one")
        for below, tier in pairwise(self.tiers):
            is_last = tier is self.tiers[-1]  # may fill its last unit in part
            if tier.npus < below.npus or (tier.npus % below.npus and not is_last):
                raise InputError(
                    f"tier {tier.name} of cluster {self.name} joins {tier.npus} NPUs; it must be a multiple "
                    f"of the {below.npus} that {below.name} joins"
                )

    @property
    def npus(self) -> int:
        """Number of NPUs."""
        return self.tiers[-1].npus

    @property
    def npus_per_node(self) -> int:
        """NPUs that the innermost tier joins."""
        return self.tiers[0].npus


def cluster(
    name: str,
    accelerator: Accelerator,
    nodes: int,
    npus_per_node: int,
    tiers: Sequence[TierSpec],
    algorithms: GroupAlgorithms = DEFAULT_ALGORITHMS,
) -> Cluster:
    """Return `nodes` nodes of `npus_per_node` accelerators behind tiers, with algorithms of collectives.

    Tiers that would join no more than those below are left out: a single node has only its own.

    Raises:
        InputError: no nodes, NPUs or tiers, a tier without a bandwidth, or one that does not join whole units
            of the tier below.
    """
    for key, count in (("nodes", nodes), ("npus_per_node", npus_per_node)):
        if count < 1:
            raise InputError(f"{key} of cluster {name} is {count}; it must be at least 1")
        if count > MAX_NPUS:
            raise InputError(f"{key} of cluster {name} is {count}; at most {MAX_NPUS} are allowed")
    if not tiers:
        raise InputError(f"cluster {name} has no tiers; it must have at least one")
    total = nodes * npus_per_node
    found: list[Tier] = []
    bandwidth_gbps: float | None = None
    nics: Nics | None = None
    for index, spec in enumerate(tiers):
        is_last = index == len(tiers) - 1
        joined = spec.npus or (total if is_last and index else npus_per_node if not index else None)
        if joined is None:
            raise InputError(
                f"tier {spec.name} of cluster {name} has no npus; only the first and the last may lack it"
            )
        bandwidth_gbps = _bandwidth_gbps(spec, npus_per_node, bandwidth_gbps)
        if bandwidth_gbps is None:
            raise InputError(
                f"tier {spec.name} of cluster {name} has no bandwidth; give bandwidth_gbps, or "
                "nics_per_node and nic_gbit_per_s"
            )
        if not index and joined != npus_per_node:
            raise InputError(
                f"tier {spec.name} of cluster {name} joins {joined} NPUs; the first tier joins the "
                f"{npus_per_node} of a node: change npus_per_node"
            )
        if found and found[-1].npus >= total:
            break
        if index and nics is None and spec.nics_per_node is not None and spec.nic_gbit_per_s is not None:
            node_gbps = spec.nics_per_node * spec.nic_gbit_per_s / 8
            nics = divided_nics(index, spec.nics_per_node, npus_per_node, node_gbps)
        found.append(
            Tier(spec.name, min(joined, total), bandwidth_gbps, spec.latency_us, spec.in_switch_efficiency)
        )
    if found[-1].npus < total:
        raise InputError(
            f"cluster {name} has {total} NPUs, but its last tier, {found[-1].name}, joins {found[-1].npus}"
        )
    return Cluster(name, accelerator, tuple(found), algorithms, nics)


def _bandwidth_gbps(spec: TierSpec, npus_per_node: int, below: float | None) -> float | None:
    """The rate at which an NPU can send into a tier."""
    given = below
    if spec.bandwidth_gbps is not None:
        given = spec.bandwidth_gbps
    elif spec.nics_per_node is not None and spec.nic_gbit_per_s is not None:
        given = spec.nics_per_node * spec.nic_gbit_per_s / 8 / npus_per_node
    return None if given is None else given / spec.oversubscription
