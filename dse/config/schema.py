"""The schema of conf/: which keys exist and of which type. Values, and what they mean, stand in conf/."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MISSING: Any = "???"  # OmegaConf's mark of a mandatory value, without importing OmegaConf


@dataclass
class RepairsSchema:
    """Which limits of the reference's model are repaired: see `dse.models.Repairs`."""

    bytes_per_element: int | None = None
    multiply_add_as_two: bool | None = None
    block_shapes: bool | None = None
    output_projection: bool | None = None
    nonlinear_operators: bool | None = None
    loss: bool | None = None
    embedding_lookup: bool | None = None
    no_input_gradient: bool | None = None
    optimizer_state: bool | None = None
    consistent_sharding: bool | None = None
    just_in_time_gathers: bool | None = None
    shared_gathers: bool | None = None
    contiguous_stages: bool | None = None
    recompute: str | None = None


@dataclass
class ModelSchema:
    """conf/model/*.yaml: see `dse.models.ModelSpec`."""

    name: str = MISSING
    input_dim: int = MISSING
    output_dim: int = MISSING
    d_model: int = MISSING
    d_ff: int = MISSING
    num_heads: int = MISSING
    seq_len: int = MISSING
    batch_size: int = MISSING
    num_layers: int = MISSING
    num_kv_heads: int | None = None
    gated_mlp: bool = False
    micro_batches: int | None = None
    fidelity: str = "stage"
    repairs: RepairsSchema = field(default_factory=RepairsSchema)


@dataclass
class DimensionSchema:
    """One network dimension: see `dse.systems.Dimension`."""

    topology: str = MISSING
    npus: int = MISSING
    bandwidth_gbps: float = MISSING
    latency_ns: float = MISSING
    shape: list[int] = field(default_factory=list)
    routing: str = ""
    file: str | None = None
    routes: str | None = None


@dataclass
class LinkFaultSchema:
    """One broken or slow link: see `dse.systems.LinkFault`."""

    source: int = MISSING
    destination: int = MISSING
    removed: bool = False
    bandwidth_factor: float = 1.0
    latency_factor: float = 1.0
    at_ns: int = 0


@dataclass
class DeratingSchema:
    """One slow NPU: see `dse.systems.Derating`."""

    npu: int = MISSING
    compute_factor: float = 1.0
    memory_factor: float = 1.0


@dataclass
class CollectivesSchema:
    """Algorithms by collective: see `dse.systems.CollectiveAlgorithms`."""

    all_reduce: list[str] = MISSING
    all_gather: list[str] = MISSING
    reduce_scatter: list[str] = MISSING
    all_to_all: list[str] = MISSING


@dataclass
class RemoteMemorySchema:
    """Memory outside the NPUs: see `dse.systems.RemoteMemory`."""

    memory_type: str = MISSING
    latency_ns: int = MISSING
    bandwidth_bytes_per_ns: int = MISSING
    num_nodes: int | None = MISSING
    num_npus_per_node: int | None = MISSING


@dataclass
class SystemSchema:
    """conf/system/*.yaml: see `dse.systems.SystemSpec`."""

    name: str = MISSING
    network: list[DimensionSchema] = MISSING
    collectives: CollectivesSchema = field(default_factory=CollectivesSchema)
    peak_tflops: float = MISSING
    memory_bandwidth_gbps: float = MISSING
    network_model: str = MISSING
    scheduling_policy: str = MISSING
    endpoint_delay_ns: int = MISSING
    active_chunks_per_dimension: int = MISSING
    preferred_dataset_splits: int = MISSING
    collective_optimization: str = MISSING
    roofline_enabled: bool = MISSING
    track_local_memory: bool = MISSING
    replay_only: bool = MISSING
    trace_enabled: bool = MISSING
    local_memory_trace_filename: str = MISSING
    model_shared_bus: bool = MISSING
    queues_per_dimension: int = MISSING
    rendezvous_protocol: bool = MISSING
    injection_scale: float = MISSING
    remote_memory: RemoteMemorySchema = field(default_factory=RemoteMemorySchema)
    faults: list[LinkFaultSchema] = field(default_factory=list)
    deratings: list[DeratingSchema] = field(default_factory=list)


def _open_dict() -> Any:
    """Return an empty group that takes any key also from the command line, without Hydra's `+`."""
    from omegaconf import DictConfig

    lists: Any = list[Any]
    named: Any = dict[str, list[Any]]
    return DictConfig(
        {}, ref_type=named, key_type=str, element_type=lists, is_optional=False, flags={"struct": False}
    )


@dataclass
class SpaceSchema:
    """conf/space/*.yaml: see `dse.space.DesignSpace`."""

    name: str = MISSING
    dp: list[int] = MISSING
    tp: list[int] = MISSING
    sp: list[int] = MISSING
    pp: list[int] = MISSING
    weight_sharded: list[bool] = MISSING
    activation_recompute: list[bool] = MISSING
    constraints: list[str] = MISSING
    axes: dict[str, list[Any]] = field(default_factory=_open_dict)


@dataclass
class StrategySchema:
    """The strategy of `dse.point`: see `dse.strategies.Strategy`."""

    dp: int = MISSING
    tp: int = MISSING
    sp: int = MISSING
    pp: int = MISSING
    weight_sharded: bool = MISSING
    activation_recompute: bool = MISSING


@dataclass
class WorkloadSchema:
    """conf/workload/*.yaml: what generates workloads, see `dse.workloads`."""

    name: str = MISSING
    divisibility: str = MISSING
    checkout: str | None = None
    entry: str | None = None
    python: str | None = None
    timeout_s: float | None = None


@dataclass
class SearchSchema:
    """conf/search/*.yaml: which points of the space to evaluate."""

    name: str = MISSING
    samples: int | None = None
    seed: int = 0
    prune: bool = False
    sampler: str | None = None
    batch: int | None = None
    objectives: list[str] = field(default_factory=list)
    budgets: list[str] = field(default_factory=list)


@dataclass
class ExecutorSchema:
    """conf/executor/*.yaml: where points are evaluated."""

    name: str = MISSING
    threads: int | None = None
    address: str | None = None
    workers: int | None = None
    point_timeout_s: float | None = None


@dataclass
class SimulatorSchema:
    """conf/simulator/*.yaml: what evaluates a point, see `dse.simulators`."""

    name: str = MISSING
    engine: str | None = None
    binary: str | None = None
    timeout_s: float | None = None
    log_dir: str | None = None


@dataclass
class ConfigSchema:
    """The whole configuration, conf/config.yaml."""

    study: str | None = MISSING
    results_dir: str = MISSING
    memory_cap: str = MISSING
    recompute: list[str] = field(default_factory=list)
    export: str | None = MISSING
    format: str = MISSING
    workload: WorkloadSchema = field(default_factory=WorkloadSchema)
    strategy: StrategySchema = field(default_factory=StrategySchema)
    system: SystemSchema = field(default_factory=SystemSchema)
    model: ModelSchema = field(default_factory=ModelSchema)
    space: SpaceSchema = field(default_factory=SpaceSchema)
    search: SearchSchema = field(default_factory=SearchSchema)
    executor: ExecutorSchema = field(default_factory=ExecutorSchema)
    simulator: SimulatorSchema = field(default_factory=SimulatorSchema)
