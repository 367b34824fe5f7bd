"""The specification of a training system: what a simulator needs to know besides the workload."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from dse.inputs.accelerators import (
    DEFAULT_ALGORITHMS,
    Accelerator,
    Cluster,
    GroupAlgorithms,
    TierSpec,
    cluster,
)
from dse.inputs.systems.validation import validate

DEFAULT_MEMORY_BYTES = 80 * 10**9
"""The memory of an NPU of a system that does not say it."""


@dataclass(frozen=True)
class Dimension:
    """One dimension of a hierarchical network; the first dimension of a network varies fastest in NPU ids.

    `bandwidth_gbps` is per link, in *network* GB/s as ASTRA-sim counts them: 2^30 bytes per 10^9 ns.
    `latency_ns` is per hop and may be fractional. `topology` is one of ASTRA-sim's (Ring, FullyConnected,
    Switch) or ours: Mesh2D, Torus2D, Torus3D with `shape` [width, height(, depth)], Hypercube, FatTree with
    `shape` [NPUs per leaf, leaves, spines] and `routing` deterministic or ecmp, Dragonfly with `shape`
    [NPUs per router, routers per group, groups], or Graph with a CSV `file`, whose links have their own
    bandwidths, and optionally a CSV `routes` of static routes.
    """

    topology: str
    npus: int
    bandwidth_gbps: float
    latency_ns: float
    shape: tuple[int, ...] = ()
    routing: str = ""
    file: str | None = None
    routes: str | None = None


@dataclass(frozen=True)
class LinkFault:
    """A link that is removed or slowed from `at_ns` on (0: from the start); needs congestion_aware.

    `source` and `destination` are devices: the NPUs from 0, then switches. The factors multiply the link's
    bandwidth and latency. Messages sent before keep their route; later ones go round a removed link.
    """

    source: int
    destination: int
    removed: bool = False
    bandwidth_factor: float = 1.0
    latency_factor: float = 1.0
    at_ns: int = 0


@dataclass(frozen=True)
class NpuType:
    """NPUs that are alike: `npus` of them, one after the other; types are dealt out from NPU 0 on.

    `peak_tflops` and `memory_bandwidth_gbps` are those of one NPU, in the units of `SystemSpec`;
    `memory_bytes` is what one holds.
    """

    name: str
    npus: int
    peak_tflops: float
    memory_bandwidth_gbps: float
    memory_bytes: int = DEFAULT_MEMORY_BYTES


@dataclass(frozen=True)
class Derating:
    """A straggler: factors on the peak performance and the memory bandwidth of one NPU's compute nodes."""

    npu: int
    compute_factor: float = 1.0
    memory_factor: float = 1.0


@dataclass(frozen=True)
class CollectiveAlgorithms:
    """Names of the algorithm of each collective, entry d for network dimension d.

    Known are ring, direct, directN, halvingDoubling, doubleBinaryTree, and with the prefix `one` (one logical
    ring over all NPUs) oneRing, oneDirect, oneDirectN, oneHalvingDoubling; N is a window of 1 to 5 digits. A
    list may be shorter than the network: then only the first dimensions take part. `synthesized` is a
    schedule made for the links: of a dimension, or as the only entry of all NPUs (also called
    oneSynthesized), and of every communicator group that is a list; `synthesized:beam` names who makes it.
    """

    all_reduce: tuple[str, ...] = ()
    all_gather: tuple[str, ...] = ()
    reduce_scatter: tuple[str, ...] = ()
    all_to_all: tuple[str, ...] = ()


@dataclass(frozen=True)
class RemoteMemory:
    """Memory outside the NPUs, used by memory nodes of a trace only.

    An access takes `latency_ns` + floor(bytes / `bandwidth_bytes_per_ns`). `memory_type` is
    NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION or MEMORY_POOL. The two counts have no effect on these and
    survive a round trip.
    """

    memory_type: str = "NO_MEMORY_EXPANSION"
    latency_ns: int = 0
    bandwidth_bytes_per_ns: int = 0
    num_nodes: int | None = None
    num_npus_per_node: int | None = None


@dataclass(frozen=True)
class SystemSpec:
    """A system of NPUs, equal or of `npu_types`; the names of ASTRA-sim's keys with units.

    `network_model` is congestion_unaware or congestion_aware. `memory_bandwidth_gbps` is in *memory* GB/s,
    10^9 bytes per second (unlike the network's, see `Dimension`); `peak_tflops` is in 10^12 operations per
    second. Either may be 0 only with the roofline model off. `scheduling_policy` (LIFO, FIFO, EXPLICIT) has
    no effect on any result. `queues_per_dimension`, `rendezvous_protocol` and `injection_scale` are
    command-line options of ASTRA-sim. `issue_order` says how a rank chooses among ready communication nodes:
    reference (the lowest id, as in ASTRA-sim), safe (an order that cannot deadlock), or None: what the
    fidelity of the model says (docs/simulator.md). `inert` keeps keys of system.json that ASTRA-sim ignores,
    and `omitted_keys` the keys that the files left to their defaults, so that files survive a round trip;
    neither changes a result.

    With `npu_types`, `peak_tflops` is the mean over all NPUs, and `memory_bandwidth_gbps` the least, at which
    collectives add up (`dse.inputs.systems.types`); compute runs at what its own NPU has, times its derating.

    A cluster also has its `accelerator`, `nodes`, `npus_per_node` and `tiers`; network, peak performance and
    memory bandwidth follow from these (`dse.inputs.systems.clusters`), and `replaced` keeps them so.
    `group_algorithms` are those of collectives where steps are predicted; the engine has `collectives`.

    Raises:
        InvalidSystem: an InputError that names the key as a user writes it, such as
            `system.network.0.bandwidth_gbps`, what was got and what is allowed.
    """

    name: str
    network: tuple[Dimension, ...]
    collectives: CollectiveAlgorithms
    peak_tflops: float
    memory_bandwidth_gbps: float
    network_model: str = "congestion_unaware"
    scheduling_policy: str = "LIFO"
    endpoint_delay_ns: int = 10
    active_chunks_per_dimension: int = 4
    preferred_dataset_splits: int = 10
    collective_optimization: str = "localBWAware"
    roofline_enabled: bool = True
    track_local_memory: bool = True
    replay_only: bool = False
    trace_enabled: bool = True
    local_memory_trace_filename: str = "local_mem_trace"
    model_shared_bus: bool = False
    queues_per_dimension: int = 1
    rendezvous_protocol: bool = False
    injection_scale: float = 1.0
    remote_memory: RemoteMemory = RemoteMemory()
    faults: tuple[LinkFault, ...] = ()
    deratings: tuple[Derating, ...] = ()
    issue_order: str | None = None
    inert: tuple[tuple[str, object], ...] = ()
    omitted_keys: tuple[str, ...] = field(default=(), compare=False)
    npu_types: tuple[NpuType, ...] = ()
    accelerator: Accelerator | None = None
    nodes: int | None = None
    npus_per_node: int | None = None
    tiers: tuple[TierSpec, ...] = ()
    group_algorithms: GroupAlgorithms = DEFAULT_ALGORITHMS

    SOURCES: ClassVar[tuple[str, ...]] = ("accelerator", "nodes", "npus_per_node", "tiers", "npu_types")
    """Fields from which others follow: changes of these come first."""

    def __post_init__(self) -> None:
        """Check every field."""
        validate(self)

    @property
    def npus(self) -> int:
        """Number of NPUs: the product over the dimensions."""
        return math.prod(dimension.npus for dimension in self.network)

    @cached_property
    def cluster(self) -> Cluster | None:
        """The accelerators behind their tiers; None for a system that says nothing of them."""
        if self.accelerator is None:
            return None
        assert self.nodes is not None
        assert self.npus_per_node is not None
        return cluster(
            self.name, self.accelerator, self.nodes, self.npus_per_node, self.tiers, self.group_algorithms
        )

    @property
    def memory_bytes(self) -> int:
        """The memory that tensors of an NPU can have.

        What its accelerator leaves them, the largest of the types, or `DEFAULT_MEMORY_BYTES`.
        """
        if self.npu_types:
            return max(each.memory_bytes for each in self.npu_types)
        return DEFAULT_MEMORY_BYTES if self.accelerator is None else self.accelerator.usable_memory_bytes

    def replaced(self, **fields: Any) -> SystemSpec:
        """Return the system with other values of fields, and of what follows from those of a cluster.

        Algorithms of collectives follow unless they were chosen.

        Raises:
            InputError: the system is not valid.
        """
        from dse.inputs.systems.clusters import derived_fields, fields_of_cluster
        from dse.inputs.systems.types import FOLLOWING, figures_of

        if types := fields.get("npu_types"):
            fields = {**dict(zip(FOLLOWING, figures_of(types), strict=True)), **fields}
        of_cluster = self.SOURCES[:4]
        sources = {name: fields.get(name, getattr(self, name)) for name in of_cluster}
        if fields.keys() & set(of_cluster) and None not in sources.values():
            derived = derived_fields(fields.get("name", self.name), **sources)
            if self.collectives != fields_of_cluster(self).get("collectives"):
                del derived["collectives"]
            fields = {**derived, **fields}
        return dataclasses.replace(self, **fields)

    @property
    def scaled_endpoint_delay_ns(self) -> int:
        """The endpoint delay that applies: `endpoint_delay_ns` x `injection_scale`, truncated."""
        return int(self.endpoint_delay_ns * self.injection_scale)
