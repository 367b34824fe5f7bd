"""Settings of a system: keys, types, meanings, and their names in ASTRA-sim's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dse.base.records import converted
from dse.base.settings import MISSING, key
from dse.base.settings.group_files import files_of_group
from dse.inputs.accelerators import Accelerator, TierSpec
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import DERIVED, derived_fields
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES, FOLLOWING, NpuType, figures_of
from dse.inputs.systems.validation import InvalidSystem


@dataclass
class DimensionSchema:
    """One network dimension: see `dse.inputs.systems.Dimension`."""

    topology: str = key(
        "Ring, FullyConnected, Switch; Mesh2D, Torus2D, Torus3D, Hypercube, FatTree, "
        "Dragonfly, Graph: see [networks.md](networks.md)",
        astrasim="`topology` (n); ASTRA-sim has the first three",
    )
    npus: int = key(
        "at least 2; the first dimension varies fastest in rank numbers", astrasim="`npus_count` (n)"
    )
    bandwidth_gbps: float = key("2³⁰ bytes per 10⁹ ns and link, above 0", astrasim="`bandwidth` (n)")
    latency_ns: float = key("ns per hop, may be fractional", astrasim="`latency` (n)")
    shape: list[int] = key(
        "extents of a mesh or torus, parameters of a FatTree or Dragonfly; empty for others",
        factory=list,
        astrasim="`shape` (n), ours",
    )
    routing: str = key("FatTree: deterministic, ecmp; empty for others", "", astrasim="`routing` (n), ours")
    file: str | None = key("Graph: a CSV file of links; null for others", None, astrasim="`file` (n), ours")
    routes: str | None = key(
        "Graph: a CSV file of static routes, or null", None, astrasim="`routes` (n), ours"
    )


@dataclass
class LinkFaultSchema:
    """One broken or slow link: see `dse.inputs.systems.LinkFault`."""

    source: int = key(
        "device at which the link begins; needs congestion_aware, see [networks.md](networks.md#faults)"
    )
    destination: int = key("device at which it ends")
    removed: bool = key("the link is gone", False)
    bandwidth_factor: float = key("multiplies the link's; several faults of a link multiply", 1.0)
    latency_factor: float = key("multiplies the link's", 1.0)
    at_ns: int = key("ns, from this tick on", 0)


@dataclass
class NpuTypeSchema:
    """NPUs of one type: see `dse.inputs.systems.NpuType`."""

    name: str = key("text; a type of NPUs, see [mixed_systems.md](mixed_systems.md)")
    npus: int = key("count; types are dealt out in their order, from NPU 0 on")
    peak_tflops: float = key("10¹² operations per second of one NPU")
    memory_bandwidth_gbps: float = key("10⁹ bytes per second of one NPU")
    memory_bytes: int = key("bytes of one NPU; points that need more are infeasible", DEFAULT_MEMORY_BYTES)


@dataclass
class DeratingSchema:
    """One slow NPU: see `dse.inputs.systems.Derating`."""

    npu: int = key("an NPU that is slower than the others, see [networks.md](networks.md#slow-npus)")
    compute_factor: float = key("multiplies its peak performance", 1.0)
    memory_factor: float = key("multiplies its memory bandwidth", 1.0)


@dataclass
class CollectivesSchema:
    """Algorithms by collective: see `dse.inputs.systems.CollectiveAlgorithms`."""

    all_reduce: list[str] = key(
        "an algorithm a dimension; fewer: only the first dimensions take part",
        astrasim="`all-reduce-implementation`",
    )
    all_gather: list[str] = key(
        "the same",
        astrasim="`all-gather-implementation`",
    )
    reduce_scatter: list[str] = key(
        "the same",
        astrasim="`reduce-scatter-implementation`",
    )
    all_to_all: list[str] = key(
        "the same",
        astrasim="`all-to-all-implementation`",
    )


@dataclass
class RemoteMemorySchema:
    """Memory outside the NPUs: see `dse.inputs.systems.RemoteMemory`."""

    memory_type: str = key(
        "NO_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION, MEMORY_POOL", astrasim="`memory-type` (r)"
    )
    latency_ns: int = key("ns", astrasim="`remote-mem-latency` (r)")
    bandwidth_bytes_per_ns: int = key("bytes per ns", astrasim="`remote-mem-bw` (r)")
    num_nodes: int | None = key("count or null; no effect", astrasim="`num-nodes`")
    num_npus_per_node: int | None = key("count or null; no effect", astrasim="`num-npus-per-node` (r)")


@dataclass
class TierSchema:
    """One tier of a cluster's network: see `dse.inputs.accelerators.TierSpec`."""

    name: str = key("text; a tier of a cluster, from the inside, see [clusters.md](clusters.md)")
    latency_us: float = key("µs of a message")
    npus: int | None = key(
        "NPUs that it joins with those below; null: of the first tier those of a node, of the last all", None
    )
    bandwidth_gbps: float | None = key(
        "10⁹ bytes per second and direction that an NPU sends into it; null: by NICs, or as the tier below",
        None,
    )
    nics_per_node: int | None = key("NICs that the NPUs of a node share, instead of `bandwidth_gbps`", None)
    nic_gbit_per_s: float | None = key("10⁹ bits per second and direction of a NIC", None)
    oversubscription: float = key("divides the bandwidth, at least 1", 1.0)
    in_switch_efficiency: float | None = key(
        "share of the bandwidth at which its [switches sum](clusters.md#algorithms-of-collectives); "
        "null: they do not",
        None,
    )


@dataclass
class GroupAlgorithmsSchema:
    """Algorithms of predicted collectives: see `dse.inputs.accelerators.GroupAlgorithms`."""

    tp: str = key(
        "predicted [collectives](clusters.md#algorithms-of-collectives) of tensor parallelism: auto, ring, "
        "tree, hierarchical, in_switch, synthesized",
        "auto",
    )
    dp: str = key("the same of gradients and sharded weights", "auto")


@dataclass
class SystemSchema:
    """conf/system/*.yaml: see `dse.inputs.systems.SystemSpec`."""

    name: str = key("text, part of the names of studies")
    network: list[DimensionSchema] = MISSING
    collectives: CollectivesSchema = field(default_factory=CollectivesSchema)
    peak_tflops: float = key("10¹² operations per second", astrasim="`peak-perf`")
    memory_bandwidth_gbps: float = key("10⁹ bytes per second", astrasim="`local-mem-bw`")
    network_model: str = key("congestion_unaware, congestion_aware", astrasim="choice of program")
    scheduling_policy: str = key("LIFO, FIFO, EXPLICIT; changes no result", astrasim="`scheduling-policy`")
    endpoint_delay_ns: int = key("ns per packet", astrasim="`endpoint-delay`")
    active_chunks_per_dimension: int = key("count", astrasim="`active-chunks-per-dimension`")
    preferred_dataset_splits: int = key("count", astrasim="`preferred-dataset-splits`")
    collective_optimization: str = key("baseline, localBWAware", astrasim="`collective-optimization`")
    roofline_enabled: bool = key("true, false", astrasim="`roofline-enabled`")
    track_local_memory: bool = key(
        "true, false; without it there are no peak memories", astrasim="`track-local-mem`"
    )
    replay_only: bool = key("true, false", astrasim="`replay-only`")
    trace_enabled: bool = key(
        "true, false; ASTRA-sim prints the peak memory only with it", astrasim="`trace-enabled`"
    )
    local_memory_trace_filename: str = key(
        "text; used by ASTRA-sim only", astrasim="`local-mem-trace-filename`"
    )
    model_shared_bus: bool = key("false; true is refused", astrasim="`model-shared-bus`")
    queues_per_dimension: int = key("count", astrasim="`--num-queues-per-dim` (o)")
    rendezvous_protocol: bool = key("true, false", astrasim="`--rendezvous-protocol` (o)")
    injection_scale: float = key(
        "factor of `endpoint_delay_ns`, result truncated", astrasim="`--injection-scale` (o)"
    )
    remote_memory: RemoteMemorySchema = field(default_factory=RemoteMemorySchema)
    faults: list[LinkFaultSchema] = field(default_factory=list)
    deratings: list[DeratingSchema] = field(default_factory=list)
    npu_types: list[NpuTypeSchema] = field(default_factory=list)
    issue_order: str | None = key(
        "`reference`, `safe`; null: `safe` under `model.fidelity=realistic`, else `reference`, see "
        "[simulator.md](simulator.md#issue-order)",
        None,
    )
    accelerator: str | None = key(
        "a file of `conf/accelerator`, an alias in one, or a YAML file: the system is a cluster of it, see "
        "[clusters.md](clusters.md)",
        None,
    )
    nodes: int | None = key("number of nodes of a cluster", None)
    npus_per_node: int | None = key("accelerators of a node of a cluster", None)
    tiers: list[TierSchema] = field(default_factory=list)
    group_algorithms: GroupAlgorithmsSchema = field(default_factory=GroupAlgorithmsSchema)
    switch_copies: bool = key("false: no switch copies in [synthesised](synthesis.md) collectives", True)
    switch_adds: bool = key("false: no switch adds", True)


def complete_types(values: dict[str, Any]) -> None:
    """Fill in what follows from the types of NPUs of a system, if it has any; `values` as `complete_cluster`.

    Raises:
        InputError: a key that follows is given, or a key of a type is missing or wrong.
    """
    if not values.get("npu_types"):
        return
    types = []
    for index, each in enumerate(values["npu_types"]):
        path = f"npu_types.{index}"
        for name, value in each.items():
            if value == MISSING:
                raise InvalidSystem(f"{path}.{name}", "has no value; every type needs one")
        types.append(converted(each, NpuType, f"system.{path}"))
    for name, figure in zip(FOLLOWING, figures_of(types), strict=True):
        if values[name] != MISSING:
            raise InvalidSystem(name, "follows from system.npu_types; change these instead")
        values[name] = figure


def complete_cluster(values: dict[str, Any]) -> None:
    """Fill in what follows from the accelerator and the tiers of a system, if it is a cluster.

    `values` are those of the schema, checked for their types, with `MISSING` where nothing is given.

    Raises:
        InputError: a key that follows is given, or a key of a cluster is missing or wrong.
    """
    if values.get("accelerator") is None:
        return
    for name, sources in DERIVED.items():
        if values[name] != MISSING:
            raise InvalidSystem(name, f"follows from {sources} on {values['name']}; change these instead")
    for name in ("nodes", "npus_per_node"):
        if values[name] is None:
            raise InvalidSystem(name, "is null; a system with system.accelerator needs it")
    for index, tier in enumerate(values["tiers"]):
        for name, value in tier.items():
            if value == MISSING:
                raise InvalidSystem(f"tiers.{index}.{name}", "has no value; every tier needs one")
    accelerator = Accelerator.named(values["accelerator"], "system.accelerator")
    tiers = converted(values["tiers"], tuple[TierSpec, ...], "system.tiers")
    found = derived_fields(values["name"], accelerator, values["nodes"], values["npus_per_node"], tiers)
    collectives = found.pop("collectives")
    values.update(found, network=[asdict(dimension) for dimension in found["network"]])
    for name, algorithms in asdict(collectives).items():
        if values["collectives"][name] == MISSING:
            values["collectives"][name] = list(algorithms)


def systems_of_conf() -> Iterator[tuple[str, SystemSpec]]:
    """Yield the systems of conf/system by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("system", SystemSchema):
        complete_cluster(values)
        complete_types(values)
        yield name, converted(values, SystemSpec, "system")
