"""`dse point system=… model=… strategy.dp=…`: every metric of one design point, and its files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import CommandLine
from dse.base.errors import InputError
from dse.base.units import format_duration_ns
from dse.commands.cli import CONFIGURATION, configs_from_arguments

if TYPE_CHECKING:
    from dse.inputs.systems import SystemSpec
    from dse.simulation.workloads import Workload
    from dse.studies.config import Config
    from dse.studies.points import DesignPoint

COMMAND = CommandLine(
    "point",
    "Simulate one strategy and print its step time, peak memory and MFU, then every metric of every class of "
    "ranks (ranks with the same trace and figures; many classes that do as much share a block, with the "
    "slowest). On a cluster (system=dgx_h100) under model.fidelity=realistic, the strategy is predicted, "
    "with its parts.",
    keys={
        "keys, for example": {
            "system=dgx16 model=llama70b model.num_layers=16": "system=PATH.yaml is a file of your own, and "
            "so for model",
            "strategy.dp=4 strategy.tp=4 strategy.sp=1 strategy.pp=1": "the strategy",
            "strategy.weight_sharded=true strategy.activation_recompute=true": "its switches",
            "strategy.micro_batch=2 strategy.schedule=interleaved ...": "of predictions only "
            "(docs/training_sweeps.md)",
            "format=json": "JSON instead of a table",
            "export=DIR": "write .et traces, groups and configuration files that ASTRA-sim accepts; of a "
            "prediction: its step, with collectives and messages as nodes",
            "simulator=astrasim simulator.binary=PATH workload=stage workload.checkout=PATH": "your own "
            "ASTRA-sim, your own STAGE (docs/backends.md)",
        }
    },
    any_key=True,
    options=CONFIGURATION,
    ending="Exit code: 0 all ranks finish, 1 deadlock, 2 wrong input or infeasible strategy.",
)
_ORDER_NOTE = (
    "note: these times are those of the safe issue order, which model.fidelity=realistic chooses; ASTRA-sim\n"
    "issues in the order of the ids (system.issue_order=reference), and may deadlock where NPUs differ"
)


def export(system: SystemSpec, workload: Workload, folder: Path) -> list[str]:
    """Write everything that a stock ASTRA-sim needs; return its command-line options.

    Raises:
        InputError: see `write_inputs`, or ASTRA-sim would ignore the groups file in the folder.
    """
    if "empty" in str(folder):
        raise InputError(
            f"export is '{folder}': ASTRA-sim ignores a groups file whose path contains 'empty'; "
            "choose another folder"
        )
    from dse.simulation.simulators.astrasim import write_inputs

    return write_inputs(workload, system, folder)


def _predicted(config: Config, point: DesignPoint) -> int:
    """Print what the predictor says of a point; return 0."""
    from dse.answers.explain.predicted_point import predicted_data, predicted_text
    from dse.studies.points.predicted_traces import predicted_traces

    data = predicted_data(point)
    options: list[str] = []
    simulated_ns = 0
    if config.export is not None:
        traces = predicted_traces(point)
        options, simulated_ns = export(traces.system, traces.workload, config.export), traces.simulated_ns
    if config.output_format == "json":
        added = {"export_options": options, "exported_wall_time_ns": simulated_ns}
        print(json.dumps({**data, **added} if options else data, indent=2))
        return 0
    print(predicted_text(point, data))
    if options:
        print(
            f"\nexported to {config.export}: {format_duration_ns(simulated_ns)} in the engine, "
            f"{_apart(simulated_ns, data['wall_time_ns'])}: its network gives collectives their "
            "time, without launches, and nothing hides those over tp\nrun it with\n  "
            + " \\\n  ".join(map(shlex.quote, options))
        )
    return 0


def _apart(simulated_ns: int, predicted_ns: int) -> str:
    share = 100 * (simulated_ns / predicted_ns - 1)
    return f"{abs(share):.1f} % {'below' if share < 0 else 'above'} the prediction"


def _simulated(config: Config, point: DesignPoint) -> int:
    """Print what a simulator says of a point; return 0, or 1 for a deadlock."""
    from dse.answers.explain.simulated_point import simulated_data, simulated_text
    from dse.studies.points import run_point

    workload, outcome = run_point(point)
    options = export(config.system, workload, config.export) if config.export is not None else []
    data = simulated_data(config, point, workload, outcome)
    if config.output_format == "json":
        print(json.dumps({**data, "export_options": options} if options else data, indent=2))
    else:
        print(simulated_text(data))
        if options:
            print(
                f"\nexported to {config.export}; run it with\n  " + " \\\n  ".join(map(shlex.quote, options))
            )
            if (
                config.simulator.name == "native"
                and workload.issue_order == "safe" != config.system.issue_order
            ):
                print(_ORDER_NOTE)
    return 0 if outcome.status == "ok" else 1


_PRINTED = {"prediction": _predicted, "simulation": _simulated}
"""By the name of the method of a point."""


def main(argv: Sequence[str]) -> int:
    """Print the metrics; return 0, or 1 for a deadlock.

    Raises:
        InputError: a wrong key or value, an infeasible strategy, an export folder that cannot be written.
        SimulationError, SimulationTimeout: the simulator cannot run this point, or not in time.
    """
    _, configs = configs_from_arguments(argv, COMMAND)
    if not configs:
        return 0
    (config,) = configs
    from dse.studies.points import point_of

    point = point_of(config, config.strategy)
    return _PRINTED[point.scenario.method.name](config, point)
