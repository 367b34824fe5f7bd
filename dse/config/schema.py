"""The schema of conf/: which keys exist, of which type, and what they mean. Values stand in conf/."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dse.config.keys import key
from dse.config.schema_model import ModelSchema
from dse.config.schema_system import SystemSchema


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

    name: str = key("text")
    dp: list[int] = key("degrees of data parallelism to try")
    tp: list[int] = key("degrees of tensor parallelism to try")
    sp: list[int] = key("degrees of sequence parallelism to try")
    pp: list[int] = key("numbers of pipeline stages to try")
    weight_sharded: list[bool] = key("values to try")
    activation_recompute: list[bool] = key("values to try")
    constraints: list[str] = key("what a point must satisfy, see [Constraints](configuration.md#constraints)")
    axes: dict[str, list[Any]] = key(
        "further axes: values by field of model, system or strategy, see [Axes](configuration.md#axes)",
        factory=_open_dict,
    )


@dataclass
class StrategySchema:
    """The strategy of `dse.point`: see `dse.strategies.Strategy`."""

    dp: int = key("`dse.point`: degree of data parallelism; a sweep ignores the whole group")
    tp: int = key("`dse.point`: degree of tensor parallelism")
    sp: int = key("`dse.point`: degree of sequence parallelism")
    pp: int = key("`dse.point`: pipeline stages")
    weight_sharded: bool = key("`dse.point`: weights are stored sharded over dp and sp (FSDP)")
    activation_recompute: bool = key("`dse.point`: activations are computed again in the backward pass")


@dataclass
class WorkloadSchema:
    """conf/workload/*.yaml: what generates workloads, see `dse.workloads`."""

    name: str = key(
        "`native`: our own generator; `stage`: a checkout of yours, see [backends.md](backends.md#stage)"
    )
    divisibility: str = key(
        "`stage` cuts fractional shards as STAGE does, `strict` makes such points infeasible"
    )
    checkout: str | None = key("`workload=stage`: folder of the checkout", None)
    entry: str | None = key(
        "`workload=stage`: file of the checkout that generates traces. The name is our assumption", None
    )
    python: str | None = key(
        "`workload=stage`: a path or a command, the interpreter that has what the checkout "
        "imports; null: the one that runs the command",
        None,
    )
    timeout_s: float | None = key(
        "`workload=stage`: seconds for the traces of a point, above 0; then it has the status `timeout`", None
    )


@dataclass
class SearchSchema:
    """conf/search/*.yaml: which points of the space to evaluate."""

    name: str = key(
        "chosen with `search=exhaustive`, `search=random` or `search=optuna`, see [search.md](search.md)"
    )
    samples: int | None = key("`random`, `optuna`: distinct points to evaluate", None)
    seed: int = key("`random`, `optuna`: the same seed draws, or proposes, the same points", 0)
    prune: bool = key(
        "`exhaustive`: leave out points that provably cannot be the best, see [search.md](search.md#pruning)",
        False,
    )
    sampler: str | None = key(
        "`optuna`: `nsga2`, or `tpe`, which takes longer for a proposal and was worse in all "
        "[comparisons](search.md#regret)",
        None,
    )
    batch: int | None = key(
        "`optuna`: points proposed before results are learnt from: at least the number of "
        "cores; part of what a result depends on",
        None,
    )
    objectives: list[str] = key(
        "`optuna`: expressions, all minimised; several give a Pareto search", factory=list
    )
    budgets: list[str] = key("`optuna`: expressions that must hold", factory=list)


@dataclass
class ExecutorSchema:
    """conf/executor/*.yaml: where points are evaluated."""

    name: str = key(
        "chosen with `executor=auto`, `executor=local` or `executor=ray`, see [executors.md](executors.md)"
    )
    threads: int | None = key("threads of `local`; null: one for each core that the process may use", None)
    address: str | None = key(
        "`HOST:PORT` of the head of a Ray cluster, or `auto` for the cluster that runs on "
        "this machine; null: start workers here, for this sweep only",
        None,
    )
    workers: int | None = key(
        "processes of `ray` on this machine; null: one for each CPU. With `address` it is "
        "refused: a cluster has its own",
        None,
    )
    point_timeout_s: float | None = key(
        "seconds for a point under `ray`; then it has the status `timeout`. Programs of your "
        "own have their limits in addition",
        None,
    )


@dataclass
class SimulatorSchema:
    """conf/simulator/*.yaml: what evaluates a point, see `dse.simulators`."""

    name: str = key(
        "`native`: the engine of this package; `astrasim`: a program of yours, see "
        "[backends.md](backends.md#astra-sim)"
    )
    engine: str | None = key(
        "`native`: `auto` simulates one rank of each class of ranks where they are proven to "
        "do the same, `general` always simulates every rank; the results are equal",
        None,
    )
    binary: str | None = key(
        "`astrasim`: the program; a script that starts it (in a container, say) is one too", None
    )
    timeout_s: float | None = key(
        "`astrasim`: seconds for a point, above 0; then it has the status `timeout`", None
    )
    log_dir: str | None = key(
        "`astrasim`: folder for the logs of all runs, `astrasim-<system>-<random>.log`; null:"
        " only logs of runs that went wrong, among temporary files",
        None,
    )


@dataclass
class ConfigSchema:
    """The whole configuration, conf/config.yaml."""

    study: str | None = key(
        "name of the study and of its folder; null: `<model>-<system>`, where these are axes "
        "with all their names, joined by `+`"
    )
    results_dir: str = key("folder of studies")
    memory_cap: str = key(
        "largest peak memory of a rank, with a unit: B, kB, MB, GB, TB (powers of 1000), KiB,"
        " MiB, GiB, TiB (powers of 1024)"
    )
    recompute: list[str] = key(
        "`failed`, `timeout`, or both: points of the study with this status are evaluated "
        "[again](results.md#columns)",
        factory=list,
    )
    export: str | None = key("`dse.point`: folder for traces and ASTRA-sim's files")
    format: str = key("`dse.point`: table or json")
    workload: WorkloadSchema = field(default_factory=WorkloadSchema)
    strategy: StrategySchema = field(default_factory=StrategySchema)
    system: SystemSchema = field(default_factory=SystemSchema)
    model: ModelSchema = field(default_factory=ModelSchema)
    space: SpaceSchema = field(default_factory=SpaceSchema)
    search: SearchSchema = field(default_factory=SearchSchema)
    executor: ExecutorSchema = field(default_factory=ExecutorSchema)
    simulator: SimulatorSchema = field(default_factory=SimulatorSchema)
