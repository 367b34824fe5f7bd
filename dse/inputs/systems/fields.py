"""The fields of a training system, plain and unchecked: `SystemSpec` adds its rules and what follows."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dse.base.settings.schemas import stated
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

    `bandwidth_gbps` is in *network* GB/s as ASTRA-sim counts them. `topology` is one of ASTRA-sim's (Ring,
    FullyConnected, Switch) or ours: Mesh2D, Torus2D, Torus3D with `shape` [width, height(, depth)],
    Hypercube, FatTree with `shape` [NPUs per leaf, leaves, spines] and `routing` deterministic or ecmp,
    Dragonfly with `shape` [NPUs per router, routers per group, groups], or Graph with a CSV `file`, whose
    links have their own bandwidths, and optionally a CSV `routes` of static routes.
    """

    topology: str = field(
        metadata=stated(
            "Ring, FullyConnected, Switch; Mesh2D, Torus2D, Torus3D, Hypercube, FatTree, "
            "Dragonfly, Graph: see [networks.md](networks.md)",
            astrasim="`topology` (n); ASTRA-sim has the first three",
        )
    )
    npus: int = field(
        metadata=stated(
            "at least 2; the first dimension varies fastest in rank numbers", astrasim="`npus_count` (n)"
        )
    )
    bandwidth_gbps: float = field(
        metadata=stated("2³⁰ bytes per 10⁹ ns and link, above 0", astrasim="`bandwidth` (n)")
    )
    latency_ns: float = field(metadata=stated("ns per hop, may be fractional", astrasim="`latency` (n)"))
    shape: tuple[int, ...] = field(
        default=(),
        metadata=stated(
            "extents of a mesh or torus, parameters of a FatTree or Dragonfly; empty for others",
            astrasim="`shape` (n), ours",
        ),
    )
    routing: str = field(
        default="",
        metadata=stated("FatTree: deterministic, ecmp; empty for others", astrasim="`routing` (n), ours"),
    )
    file: str | None = field(
        default=None,
        metadata=stated("Graph: a CSV file of links; null for others", astrasim="`file` (n), ours"),
    )
    routes: str | None = field(
        default=None,
        metadata=stated("Graph: a CSV file of static routes, or null", astrasim="`routes` (n), ours"),
    )


@dataclass(frozen=True)
class LinkFault:
    """A link that is removed or slowed from `at_ns` on (0: from the start); needs congestion_aware.

    `source` and `destination` are devices: the NPUs from 0, then switches. Messages sent before keep their
    route; later ones go round a removed link.
    """

    source: int = field(
        metadata=stated(
            "device at which the link begins; needs congestion_aware, see [networks.md](networks.md#faults)"
        )
    )
    destination: int = field(metadata=stated("device at which it ends"))
    removed: bool = field(default=False, metadata=stated("the link is gone"))
    bandwidth_factor: float = field(
        default=1.0, metadata=stated("multiplies the link's; several faults of a link multiply")
    )
    latency_factor: float = field(default=1.0, metadata=stated("multiplies the link's"))
    at_ns: int = field(default=0, metadata=stated("ns, from this tick on"))


@dataclass(frozen=True)
class NpuType:
    """NPUs that are alike: `npus` of them, one after the other; types are dealt out from NPU 0 on."""

    name: str = field(metadata=stated("text; a type of NPUs, see [mixed_systems.md](mixed_systems.md)"))
    npus: int = field(metadata=stated("count; types are dealt out in their order, from NPU 0 on"))
    peak_tflops: float = field(metadata=stated("10¹² operations per second of one NPU"))
    memory_bandwidth_gbps: float = field(metadata=stated("10⁹ bytes per second of one NPU"))
    memory_bytes: int = field(
        default=DEFAULT_MEMORY_BYTES,
        metadata=stated("bytes of one NPU; points that need more are infeasible"),
    )


@dataclass(frozen=True)
class Derating:
    """A straggler: factors on the peak performance and the memory bandwidth of one NPU's compute nodes."""

    npu: int = field(
        metadata=stated("an NPU that is slower than the others, see [networks.md](networks.md#slow-npus)")
    )
    compute_factor: float = field(default=1.0, metadata=stated("multiplies its peak performance"))
    memory_factor: float = field(default=1.0, metadata=stated("multiplies its memory bandwidth"))


@dataclass(frozen=True)
class CollectiveAlgorithms:
    """Names of the algorithm of each collective, entry d for network dimension d.

    Known are ring, direct, directN, halvingDoubling, doubleBinaryTree, and with the prefix `one` (one logical
    ring over all NPUs) oneRing, oneDirect, oneDirectN, oneHalvingDoubling; N is a window of 1 to 5 digits. A
    list may be shorter than the network: then only the first dimensions take part. `synthesized` is a
    schedule made for the links: of a dimension, or as the only entry of all NPUs (also called
    oneSynthesized), and of every communicator group that is a list; `synthesized:beam` names who makes it.
    """

    all_reduce: tuple[str, ...] = field(
        default=(),
        metadata=stated(
            "an algorithm a dimension; fewer: only the first dimensions take part",
            in_files=True,
            astrasim="`all-reduce-implementation`",
        ),
    )
    all_gather: tuple[str, ...] = field(
        default=(), metadata=stated("the same", in_files=True, astrasim="`all-gather-implementation`")
    )
    reduce_scatter: tuple[str, ...] = field(
        default=(), metadata=stated("the same", in_files=True, astrasim="`reduce-scatter-implementation`")
    )
    all_to_all: tuple[str, ...] = field(
        default=(), metadata=stated("the same", in_files=True, astrasim="`all-to-all-implementation`")
    )


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

    An access takes `latency_ns` + floor(bytes / `bandwidth_bytes_per_ns`). The two counts have no effect on
    this and survive a round trip.
    """

    memory_type: str = field(
        default="NO_MEMORY_EXPANSION",
        metadata=stated(
            "NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, MEMORY_POOL",
            in_files=True,
            astrasim="`memory-type` (r)",
        ),
    )
    latency_ns: int = field(
        default=0, metadata=stated("ns", in_files=True, astrasim="`remote-mem-latency` (r)")
    )
    bandwidth_bytes_per_ns: int = field(
        default=0, metadata=stated("bytes per ns", in_files=True, astrasim="`remote-mem-bw` (r)")
    )
    num_nodes: int | None = field(
        default=None, metadata=stated("count or null; no effect", in_files=True, astrasim="`num-nodes`")
    )
    num_npus_per_node: int | None = field(
        default=None,
        metadata=stated("count or null; no effect", in_files=True, astrasim="`num-npus-per-node` (r)"),
    )


@dataclass(frozen=True)
class SystemFields:
    """The fields of a system. `SystemSpec` says what each field means."""

    name: str = field(metadata=stated("text, part of the names of studies"))
    network: tuple[Dimension, ...] = field(metadata=stated("its dimensions, the first varies fastest"))
    collectives: CollectiveAlgorithms = field(metadata=stated("algorithms by collective"))
    peak_tflops: float = field(metadata=stated("10¹² operations per second", astrasim="`peak-perf`"))
    memory_bandwidth_gbps: float = field(metadata=stated("10⁹ bytes per second", astrasim="`local-mem-bw`"))
    network_model: str = field(
        default="congestion_unaware",
        metadata=stated("congestion_unaware, congestion_aware", in_files=True, astrasim="choice of program"),
    )
    scheduling_policy: str = field(
        default="LIFO",
        metadata=stated(
            "LIFO, FIFO, EXPLICIT; changes no result", in_files=True, astrasim="`scheduling-policy`"
        ),
    )
    endpoint_delay_ns: int = field(
        default=10, metadata=stated("ns per packet", in_files=True, astrasim="`endpoint-delay`")
    )
    active_chunks_per_dimension: int = field(
        default=4, metadata=stated("count", in_files=True, astrasim="`active-chunks-per-dimension`")
    )
    preferred_dataset_splits: int = field(
        default=10, metadata=stated("count", in_files=True, astrasim="`preferred-dataset-splits`")
    )
    collective_optimization: str = field(
        default="localBWAware",
        metadata=stated("baseline, localBWAware", in_files=True, astrasim="`collective-optimization`"),
    )
    roofline_enabled: bool = field(
        default=True, metadata=stated("true, false", in_files=True, astrasim="`roofline-enabled`")
    )
    track_local_memory: bool = field(
        default=True,
        metadata=stated(
            "true, false; without it there are no peak memories", in_files=True, astrasim="`track-local-mem`"
        ),
    )
    replay_only: bool = field(
        default=False, metadata=stated("true, false", in_files=True, astrasim="`replay-only`")
    )
    trace_enabled: bool = field(
        default=True,
        metadata=stated(
            "true, false; ASTRA-sim prints the peak memory only with it",
            in_files=True,
            astrasim="`trace-enabled`",
        ),
    )
    local_memory_trace_filename: str = field(
        default="local_mem_trace",
        metadata=stated("text; used by ASTRA-sim only", in_files=True, astrasim="`local-mem-trace-filename`"),
    )
    model_shared_bus: bool = field(
        default=False, metadata=stated("false; true is refused", in_files=True, astrasim="`model-shared-bus`")
    )
    queues_per_dimension: int = field(
        default=1, metadata=stated("count", in_files=True, astrasim="`--num-queues-per-dim` (o)")
    )
    rendezvous_protocol: bool = field(
        default=False, metadata=stated("true, false", in_files=True, astrasim="`--rendezvous-protocol` (o)")
    )
    injection_scale: float = field(
        default=1.0,
        metadata=stated(
            "factor of `endpoint_delay_ns`, result truncated",
            in_files=True,
            astrasim="`--injection-scale` (o)",
        ),
    )
    remote_memory: RemoteMemory = RemoteMemory()
    faults: tuple[LinkFault, ...] = field(default=(), metadata=stated("broken and slow links"))
    deratings: tuple[Derating, ...] = field(default=(), metadata=stated("slow NPUs"))
    issue_order: str | None = field(
        default=None,
        metadata=stated(
            "`reference`, `safe`; null: `safe` under `model.fidelity=realistic`, else `reference`, see "
            "[simulator.md](simulator.md#issue-order)"
        ),
    )
    inert: tuple[tuple[str, object], ...] = ()
    omitted_keys: tuple[str, ...] = field(default=(), compare=False)
    npu_types: tuple[NpuType, ...] = field(
        default=(), metadata=stated("types of NPUs, dealt out from NPU 0 on")
    )
    accelerator: Accelerator | None = field(
        default=None,
        metadata=stated(
            "a file of `conf/accelerator`, an alias in one, or a YAML file: the system is a cluster of it, "
            "see [clusters.md](clusters.md)"
        ),
    )
    nodes: int | None = field(default=None, metadata=stated("number of nodes of a cluster"))
    npus_per_node: int | None = field(default=None, metadata=stated("accelerators of a node of a cluster"))
    tiers: tuple[TierSpec, ...] = field(default=(), metadata=stated("tiers of a cluster, from the inside"))
    group_algorithms: GroupAlgorithms = DEFAULT_ALGORITHMS
    custom_collectives: CustomCollectives | None = None
    switch_copies: bool = field(
        default=True, metadata=stated("false: no switch copies in [synthesised](synthesis.md) collectives")
    )
    switch_adds: bool = field(default=True, metadata=stated("false: no switch adds"))

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
