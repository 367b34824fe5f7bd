"""The fields of a training system, plain and unchecked: `SystemSpec` adds its rules and what follows."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.inputs.accelerators import DEFAULT_ALGORITHMS, Accelerator, GroupAlgorithms, TierSpec

DEFAULT_MEMORY_BYTES = 80 * 10**9
"""The memory of an NPU of a system that does not say it."""

ABILITIES = ("switch_copies", "switch_adds")
"""Fields that say what switches do in synthesised collectives."""

FILES_OF_DIMENSION = ("file", "routes")
"""Fields of a dimension that name files."""


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
class CustomCollectives:
    """Collectives that execution traces of the user's own define, as ASTRA-sim of 2026 reads them.

    `prefixes` are pairs of a collective and the prefix of its traces, `<prefix>.<place>.et`; `of_nodes` is a
    YAML file of ids of nodes and prefixes, which count before, or empty. Paths are below `folder`.
    """

    folder: str
    prefixes: tuple[tuple[str, str], ...] = ()
    of_nodes: str = ""


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
class SystemFields:
    """The fields of a system. `SystemSpec` says what each field means."""

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
    custom_collectives: CustomCollectives | None = None
    switch_copies: bool = True
    switch_adds: bool = True

    @property
    def npus(self) -> int:
        """Number of NPUs: the product over the dimensions."""
        return math.prod(dimension.npus for dimension in self.network)


PER_DIMENSION = "synthesized"
OVER_ALL_NPUS = "oneSynthesized"
SYNTHESIZERS = ("fast", "greedy", "arrival", "restarts", "beam", "symmetric", "improve", "trees")
"""Synthesizers whose schedules depend on no clock, so that a point always has the same time."""


@functools.lru_cache(maxsize=1024)  # asked for every dimension and collective of every point
def algorithm_of(name: str) -> tuple[str, str | None]:
    """Return the algorithm and the synthesizer of a name such as `synthesized:beam`; None if not chosen."""
    algorithm, colon, synthesizer = name.partition(":")
    if colon and algorithm in (PER_DIMENSION, OVER_ALL_NPUS):
        return algorithm, synthesizer
    return name, None


@functools.lru_cache(maxsize=1024)
def is_synthesized(name: str) -> bool:
    """Whether schedules are made for a collective with this algorithm."""
    return algorithm_of(name)[0] in (PER_DIMENSION, OVER_ALL_NPUS)


def synthesizer_problem(name: str) -> str:
    """Say what is wrong with the synthesizer that a name chooses; nothing if it is known, or not chosen."""
    algorithm, synthesizer = algorithm_of(name)
    if synthesizer is None or synthesizer in SYNTHESIZERS:
        return ""
    allowed = ", ".join(SYNTHESIZERS)
    if synthesizer in ("auto", "exact"):
        return (
            f"is '{name}', but {synthesizer} may end by the clock, and a point must always have the same "
            f"time; choose {allowed}, or '{algorithm}' for the better of symmetric and restarts"
        )
    return f"is '{name}'; the synthesizer after the colon must be one of {allowed}"


FOLLOWING = ("peak_tflops", "memory_bandwidth_gbps")
"""Fields of a system that follow from its types."""


def figures_of(types: Sequence[NpuType]) -> tuple[float, float]:
    """Return the mean peak performance in TFLOPS and the least memory bandwidth in GB/s of NPUs of types."""
    count = sum(each.npus for each in types)
    peak = sum(each.peak_tflops * each.npus for each in types) / count
    return peak, min(each.memory_bandwidth_gbps for each in types)


def npu_speeds(system: SystemFields) -> Iterator[tuple[float, float]]:
    """Yield operations and bytes per second of NPUs, each speed at least once."""
    # The last derating of an NPU counts.
    slow = {each.npu: (each.compute_factor, each.memory_factor) for each in system.deratings}
    first = 0
    groups = [(each.npus, each.peak_tflops, each.memory_bandwidth_gbps) for each in system.npu_types]
    for npus, peak, bandwidth in groups or [(system.npus, system.peak_tflops, system.memory_bandwidth_gbps)]:
        factors = [slow[npu] for npu in slow if first <= npu < first + npus]
        if len(factors) < npus:
            yield peak * 1e12, bandwidth * 1e9
        for compute, memory in factors:
            yield peak * 1e12 * compute, bandwidth * 1e9 * memory
        first += npus
