"""`dse batch study=NAME topology=[a.csv,b.csv]`: schedules for many networks and collectives, as a study."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.signals import INTERRUPTED, putting_away
from dse.collectives.problem.arguments import (
    NETWORK_KEYS,
    PROBLEM_KEYS,
    SEARCH_KEYS,
    Arguments,
    parse_arguments,
    usage_lines,
)
from dse.commands.cli import called_as, print_notes, system_from_overrides

if TYPE_CHECKING:
    from dse.studies.executors import ExecutorSettings
    from dse.studies.syntheses import SynthesisRow

_BEAM_KEYS = ("num_beams", "fitness", "temperature")
AXES = {
    key: meaning
    for key, meaning in (NETWORK_KEYS | PROBLEM_KEYS | SEARCH_KEYS).items()
    if key not in _BEAM_KEYS
}
OPTIONS = {"-h": False, "--help": False}
STUDY_KEYS = {
    "study": "the folder results/NAME, where the same command goes on",
    "executor": "local (default) or ray",
    "threads": "processes on this machine (executor=local; default: one per core)",
    "workers": "of Ray (executor=ray; default: one per CPU)",
    "address": "HOST:PORT of a Ray cluster, or auto (executor=ray; default: Ray on this machine)",
    "format": "table (default) or json: print the rows as JSON",
}
KEYS = AXES | STUDY_KEYS
_USAGE = """\
usage: {program} study=NAME topology=[FILE.csv,NAME,...] [KEY=VALUE|[VALUE,...] ...]

Synthesise all combinations of the lists, and store a row for each in results/NAME.

keys, whose values may be lists:
{axes}

keys of the study:
{study}"""


def usage() -> str:
    """The text of --help."""
    text = _USAGE.replace("{program}", called_as("batch"))
    return text.replace("{axes}", usage_lines(AXES)).replace("{study}", usage_lines(STUDY_KEYS))


def main(argv: Sequence[str]) -> int:
    """Synthesise what the study lacks, print all rows that were asked for; return the exit code.

    Raises:
        InputError: a wrong key or value, or a study that cannot be read or written.
    """
    arguments = parse_arguments(argv, KEYS, OPTIONS)
    if arguments.options:
        print(usage())
        return 0
    from dse.studies.store import StudyStore
    from dse.studies.sweeps.provenance import provenance, sweep_name
    from dse.studies.syntheses import SYNTHESES, missing_cases, run_cases
    from dse.studies.syntheses.grid import cases

    values = dict(arguments.values)
    check_choice("format", values.get("format", "table"), ("table", "json"))
    if "study" not in values:
        raise InputError("study is missing; write study=NAME, the folder results/NAME for the rows")
    folder = Path("results") / _checked_name(values["study"])
    executor = _executor(values)
    asked = {key: value for key, value in values.items() if key in AXES}
    wanted = list(cases(asked, _systems(arguments)))
    store = StudyStore(folder, SYNTHESES)
    missing = missing_cases(wanted, store)
    if missing:
        store = StudyStore.create(folder, SYNTHESES)
        configuration = "\n".join(f"{key}: {value!r}" for key, value in sorted(asked.items()))
        about = provenance(["dse", "batch", *argv], configuration, {"planned": len(missing)})
        store.record_sweep(sweep_name(), about)
        with putting_away(f"{INTERRUPTED}; the same command goes on from what is stored in {folder}"):
            _run(lambda on_row: run_cases(missing, store, executor, on_row), len(missing))
    keys = {case.key for case in wanted}
    rows = [row for row in store.rows() if row.key in keys]
    _print(rows, values.get("format", "table"))
    notes = [f"{len(missing)} of {len(keys)} were computed, the others were there", f"stored in {folder}"]
    print_notes([*notes, *sorted({f"{row.topology}: {row.reason}" for row in rows if row.reason})])
    return 0


def _checked_name(name: str) -> str:
    from dse.studies.config.settings import checked_study

    return checked_study(name)


def _systems(arguments: Arguments) -> list[tuple[str, Any]]:
    from dse.studies.syntheses.grid import entries

    names = [word for word in arguments.overrides if word.startswith("system=")]
    others = [word for word in arguments.overrides if not word.startswith("system=")]
    if len(names) > 1:
        raise InputError(f"system occurs twice, in {names[0]} and {names[1]}; write system=[a,b]")
    if not names:
        if others:
            raise InputError(f"{others[0]} has no effect without a system; write system=NAME too")
        return []
    return [
        (name, lambda name=name: system_from_overrides([f"system={name}", *others]))
        for name in entries("system", names[0].partition("=")[2])
    ]


def _executor(values: dict[str, str]) -> ExecutorSettings:
    from dse.base.settings.values import whole
    from dse.studies.executors.settings import ExecutorSchema, executor_settings

    name = values.get("executor", "local")
    check_choice("executor", name, ("local", "ray"))
    for key, owner in (("threads", "local"), ("workers", "ray"), ("address", "ray")):
        if key in values and name != owner:
            raise InputError(f"{key}={values[key]} has no effect on executor={name}; write executor={owner}")
    counts: dict[str, Any] = {
        key: whole(values, key, 1, least=1, most=4096) for key in ("threads", "workers") if key in values
    }
    return executor_settings(ExecutorSchema(name=name, address=values.get("address"), **counts))


def _run(evaluate: Any, cases: int) -> None:
    from tqdm import tqdm

    with tqdm(total=cases, unit="case", file=sys.stderr, disable=None) as bar:
        evaluate(lambda _: bar.update())


def _print(rows: Sequence[SynthesisRow], form: str) -> None:
    from dataclasses import asdict

    from dse.commands.cli import print_json
    from dse.studies.syntheses.table import table_text

    if form == "json":
        print_json([asdict(row) for row in rows] or [[]])
    else:
        print(table_text(rows))
