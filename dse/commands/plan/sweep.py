"""`dse plan sweep`: plans of all combinations of lists, as a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.signals import putting_away
from dse.collectives.problem.arguments import parse_arguments
from dse.commands.cli import print_notes
from dse.commands.plan.shared import configuration, format_of, model_of, progress_bar
from dse.planner.problem.keys import GROUPS, KEYS, OUTPUT_KEYS

STUDY_KEYS = {
    "study": "the folder results/NAME, where the same command goes on",
    "executor": "local (default) or ray",
    "workers": "processes on this machine, or of Ray (default: one per core)",
    "address": "HOST:PORT of a Ray cluster, or auto (executor=ray; default: Ray on this machine)",
}


def sweep(argv: Sequence[str]) -> int:
    """Plan what a study lacks, and print all rows that were asked for."""
    from dataclasses import asdict

    from dse.commands.cli import print_json
    from dse.studies.config.settings import checked_study
    from dse.studies.plans import PLANS, evaluate
    from dse.studies.plans.grid import cases
    from dse.studies.plans.table import table_text
    from dse.studies.store import StudyStore
    from dse.studies.sweeps.cases import missing_cases, run_cases
    from dse.studies.sweeps.provenance import provenance, sweep_name

    keys = {
        key: meaning for key, meaning in KEYS.items() if key not in OUTPUT_KEYS or key == "format"
    } | STUDY_KEYS
    arguments = parse_arguments(argv, keys, {}, groups=GROUPS, example="study=NAME")
    form = format_of(arguments, ("table", "json"))
    if "study" not in arguments.values:
        raise InputError("study is missing; write study=NAME, the folder results/NAME for the rows")
    folder = Path("results") / checked_study(arguments.values["study"])
    executor = _executor(arguments.values)
    asked = {key: value for key, value in arguments.values.items() if key not in STUDY_KEYS}
    wanted = list(cases(asked, arguments.overrides, model_of))
    store = StudyStore(folder, PLANS)
    missing = missing_cases(wanted, store)
    if missing:
        store = StudyStore.create(folder, PLANS)
        about = provenance(
            ["dse", "plan", "sweep", *argv], configuration(arguments), {"planned": len(missing)}
        )
        store.record_sweep(sweep_name(), about)
        with (
            putting_away(f"interrupted; the same command goes on from what is stored in {folder}"),
            progress_bar() as bar,
        ):
            bar.total = len(missing)
            run_cases(missing, evaluate, store, executor, lambda _: bar.update())
    wanted_keys = {case.key for case in wanted}
    rows = [row for row in store.rows() if row.key in wanted_keys]
    if form == "json":
        print_json([[asdict(row) for row in rows]])
    else:
        print(table_text(rows))
    notes = dict.fromkeys(note for case in wanted for note in case.asked.notes)
    print_notes(
        [
            *notes,
            f"{len(missing)} of {len(wanted_keys)} were computed, the others were there",
            f"stored in {folder}",
        ]
    )
    return 0


def _executor(values: Mapping[str, str]) -> Any:
    from dse.base.settings.values import whole
    from dse.studies.executors.settings import ExecutorSchema, executor_settings

    name = values.get("executor", "local")
    check_choice("executor", name, ("local", "ray"))
    if "address" in values and name != "ray":
        raise InputError(f"address={values['address']} has no effect on executor=local; write executor=ray")
    workers = whole(values, "workers", None, least=1)
    counts: dict[str, Any] = {"threads": workers} if name == "local" else {"workers": workers}
    return executor_settings(ExecutorSchema(name=name, address=values.get("address"), **counts))
