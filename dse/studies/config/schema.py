"""The schema of conf/: the keys of the top, and the groups that the nouns declare. Values stand in conf/."""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.settings import group, key
from dse.inputs.models.settings import ModelSchema
from dse.inputs.strategies.settings import StrategySchema
from dse.inputs.systems.settings import SystemSchema
from dse.prediction.runs.settings import RunSchema
from dse.simulation.simulators.settings import SimulatorSchema
from dse.simulation.workloads.settings import WorkloadSchema
from dse.studies.executors.settings import ExecutorSchema
from dse.studies.search.settings import SearchSchema
from dse.studies.space.settings import SpaceSchema


@dataclass
class ConfigSchema:
    """The whole configuration, conf/config.yaml."""

    study: str | None = key(
        "name of the study and of its folder; null: `<model>-<system>`, where these are axes "
        "with all their names, joined by `+`",
        only="sweep",
        instead="which stores nothing; leave it out, or write python -m dse.sweep",
    )
    results_dir: str = key(
        "folder of studies",
        only="sweep explore",
        instead="which stores nothing; leave it out, or write python -m dse.sweep",
    )
    memory_cap: str | None = key(
        "largest peak memory of a rank, with a unit: B, kB, MB, GB, TB (powers of 1000), KiB,"
        " MiB, GiB, TiB (powers of 1024); null: the memory of the accelerator, 80GB on systems without one",
        only="sweep explore",
        instead="which prints the peak memory of its point, whatever it is; leave it out",
    )
    recompute: list[str] = key(
        "`failed`, `timeout`, or both: points of the study with this status are evaluated "
        "[again](results.md#columns)",
        factory=list,
        only="sweep",
        instead="which always evaluates anew; leave it out",
    )
    export: str | None = key(
        "folder for traces and ASTRA-sim's files",
        only="point",
        instead="which writes no traces; write python -m dse point strategy.dp=… export={value}",
    )
    format: str = key(
        "table or json",
        only="point",
        instead="which has no other format; for JSON write python -m dse best results/STUDY --json",
    )
    objective: str = key(
        "the figure by which the answer names the best: `step`, or of the run that `run` describes"
        " `expected_time`, `cost` or `energy`, see [runs.md](runs.md)",
        "step",
        only="sweep",
        instead="which ranks nothing; leave it out, or write python -m dse.sweep",
    )
    run: RunSchema = group(
        RunSchema,
        only="sweep explore",
        instead="which evaluates one step; write dse run {name}={value}",
    )
    workload: WorkloadSchema = group(WorkloadSchema)
    strategy: StrategySchema = group(  # type: ignore[valid-type]
        StrategySchema,
        only="point",
        instead="which takes every strategy of the space; write space.{name}=[{value}]",
    )
    system: SystemSchema = group(SystemSchema)
    model: ModelSchema = group(ModelSchema)
    space: SpaceSchema = group(
        SpaceSchema,
        only="sweep explore",
        instead="which evaluates one strategy; write strategy.dp=…, strategy.tp=…, or python -m dse.sweep",
    )
    search: SearchSchema = group(
        SearchSchema,
        only="sweep",
        instead="which searches nothing; leave it out, or write python -m dse.sweep",
    )
    executor: ExecutorSchema = group(
        ExecutorSchema,
        only="sweep",
        instead="which needs no workers; leave it out, or write python -m dse.sweep",
    )
    simulator: SimulatorSchema = group(SimulatorSchema)
