"""`dse batch study=NAME topology=[a.csv,b.csv]`: schedules for many networks and collectives, as a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.settings.values import listed
from dse.collectives.problem.arguments import (
    NETWORK_KEYS,
    PROBLEM_KEYS,
    SEARCH_KEYS,
)
from dse.commands.cases import CHOICES, STUDY_KEYS, studied
from dse.commands.cli import print_json, print_notes, read_arguments
from dse.studies.composed import system_of

if TYPE_CHECKING:
    from dse.studies.syntheses import SynthesisRow

_BEAM_KEYS = ("num_beams", "fitness", "temperature")
AXES = {
    key: meaning
    for key, meaning in (NETWORK_KEYS | PROBLEM_KEYS | SEARCH_KEYS).items()
    if key not in _BEAM_KEYS
}
_FORMAT = {"format": "table (default) or json: print the rows as JSON"}
COMMAND = CommandLine(
    "batch",
    "Synthesise all combinations of the lists, and store a row for each in results/NAME.",
    keys={"keys, whose values may be lists": AXES, "keys of the study": {**STUDY_KEYS, **_FORMAT}},
    groups=("system",),
    choices=CHOICES,
    example="topology=FILE.csv",
    synopsis=("study=NAME topology=[FILE.csv,NAME,...] [KEY=VALUE|[VALUE,...] ...]",),
)


def main(argv: Sequence[str]) -> int:
    """Synthesise what the study lacks, print all rows that were asked for; return the exit code."""
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    from dse.collectives.search.settings import notes_of
    from dse.studies.syntheses import SynthesisEvaluator
    from dse.studies.syntheses.case import cases

    asked = {key: value for key, value in arguments.values.items() if key in AXES}
    _, rows, notes = studied(
        SynthesisEvaluator(),
        cases(asked, _systems(arguments)),
        arguments,
        ["dse", "batch", *argv],
        "case",
    )
    _print(rows, arguments.values.get("format", "table"))
    names = listed("synthesizer", asked.get("synthesizer", "auto"))
    about = [note for name in names for note in notes_of({"synthesizer": name})]
    print_notes([*about, *notes, *sorted({f"{row.topology}: {row.reason}" for row in rows if row.reason})])
    return 0


def _systems(arguments: Arguments) -> list[tuple[str, Any]]:
    names = [word for word in arguments.overrides if word.startswith("system=")]
    others = [word for word in arguments.overrides if not word.startswith("system=")]
    if len(names) > 1:
        raise InputError(f"system occurs twice, in {names[0]} and {names[1]}; write system=[a,b]")
    if not names:
        if others:
            raise InputError(f"{others[0]} has no effect without a system; write system=NAME too")
        return []
    return [
        (name, lambda name=name: system_of([f"system={name}", *others]))
        for name in listed("system", names[0].partition("=")[2])
    ]


def _print(rows: Sequence[SynthesisRow], form: str) -> None:

    from dse.studies.syntheses.record import table_text

    if form == "json":
        print_json([asdict(row) for row in rows] or [[]])
    else:
        print(table_text(rows))
