"""`dse sweep system=… model=…`: evaluate a design space, keep every point, and name the best."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.base.command_lines import CommandLine, Option
from dse.base.texts import printable
from dse.commands.cli import CONFIGURATION, MULTIRUN, configs_from_arguments

if TYPE_CHECKING:
    from dse.answers import Cap
    from dse.studies.config import Config

COMMAND = CommandLine(
    "sweep",
    "Evaluate every strategy of the design space on a system, store one row each in results/<study>/, and "
    "name the best strategy with and without a memory cap. Points that the study has already are not "
    "computed again.",
    keys={
        "keys, for example": {
            "system=system1": "a file of conf/system (system1, system2, dgx16, dgx_2k, tpu_512, ...) or a "
            "path of your own: system=mine.yaml; so for every group",
            "model=llama70b": "a file of conf/model (llama70b, gpt175b, tiny, ...)",
            "space.tp=[1,2,4]": "an axis of the space; so for dp, sp, pp, weight_sharded, "
            "activation_recompute",
            "'space.axes={system.network.0.bandwidth_gbps:[100,400],model.seq_len:[2048,8192]}'": "further "
            "axes: any field of model, system or strategy; model:[...] and system:[...]",
            "memory_cap=80GiB": "per NPU; 80GB is 80e9 bytes, 80GiB is 80 x 2^30",
            "study=NAME": "name of the study, default <model>-<system>",
            "run.tokens=15T run.price=2.5 objective=cost": "figures of the whole training run, and "
            "the best by expected_time, cost or energy (docs/runs.md)",
            "search=random search.samples=20 search.seed=0": "a sample instead of the whole space",
            "search=optuna search.samples=300": "let Optuna propose points (docs/search.md)",
            "executor=ray executor.address=ADDRESS": "a Ray cluster (docs/executors.md)",
            "workload.divisibility=whole": "strategies that split a sequence, a token or a head are "
            "infeasible instead of cut",
            "simulator=astrasim simulator.binary=PATH workload=stage workload.checkout=PATH": "your own "
            "ASTRA-sim, your own STAGE (docs/backends.md)",
            "experiment=lab": "a prepared sweep, a file of conf/experiment",
            "system.network.0.bandwidth_gbps=200, model.num_layers=16, executor.threads=1, ...": "any key of "
            "the configuration; --cfg prints all of them",
        }
    },
    any_key=True,
    options={
        **CONFIGURATION,
        **MULTIRUN,
        "--dry-run": Option("count the points, also removed and stored ones; estimate the time"),
    },
)


def sweep(config: Config, arguments: Sequence[str]) -> None:
    """Run one sweep and print the answer.

    Raises:
        InputError: an empty space, or a study that cannot be read or written.
    """
    from dse.answers.foreign_inputs import foreign_inputs
    from dse.answers.swept import sweep_answer
    from dse.studies.sweeps import Progress, Session

    command = ["python", "-m", "dse.sweep", *arguments]
    swept = Session(config, command, _say, Progress, foreign_inputs).run()
    store = swept.store
    if swept.points > swept.computed:
        print(f"{swept.points - swept.computed} of {swept.points} points were in the study already\n")
    texts, lines = store.reading(lambda: sweep_answer(store, swept.keys, _cap(config), config.objective))
    for line in lines:
        _say(line)
    print("\n\n".join(texts))
    for note in swept.notes:
        print(note)
    print(f"\nexact figures: dse best {shlex.quote(str(store.folder))} --exact")
    print(f"stored in {store.folder}")


def _cap(config: Config) -> Cap:
    from dse.answers import BY_SYSTEM, Cap

    return BY_SYSTEM if config.chosen_cap_bytes is None else Cap(config.chosen_cap_bytes)


def _say(line: str) -> None:
    print(printable(line), file=sys.stderr)


def main(argv: Sequence[str]) -> int:
    """Run the sweep or sweeps, print the answers, return the exit code."""
    arguments, configs = configs_from_arguments(argv, COMMAND)
    for number, config in enumerate(configs):
        if number:
            print()
        if "--dry-run" in arguments.options:
            from dse.studies.sweeps import dry_run

            print(dry_run(config))
        else:
            sweep(config, argv)
    return 0
