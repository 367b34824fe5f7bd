"""Studies of runs of traces, for the verbs that answer about studies: the best run, its parts, its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.settings.values import file
from dse.base.texts import printable
from dse.commands.cli import beside, print_json, print_notes

if TYPE_CHECKING:
    from dse.studies.recorded import Case, RunRow


def answered(verb: str, arguments: Arguments) -> bool:
    """Answer about a study of runs; False for a study of anything else.

    Raises:
        InputError: a key or an option that concerns design points only, or files that have changed.
    """
    from dse.studies.store import POINTS
    from dse.studies.store.parts import record_name

    name = record_name(Path(arguments.words[0]))
    if name == POINTS.name:  # most studies: runs need not be imported
        return False
    from dse.studies.recorded import RUNS

    if name != RUNS.name:
        return False
    answer, allowed = _ANSWERS[verb]
    foreign = [name for name in (*arguments.values, *arguments.options) if name not in allowed]
    if foreign:
        shown = f"; allowed are {', '.join(allowed)}" if allowed else ""
        raise InputError(f"{foreign[0]} has no effect on a study of runs of traces{shown}")
    study = _Study(arguments.words[0])
    print_notes([*study.left_out, *_doubts(study.rows)])
    answer(study, arguments)
    return True


class _Study:
    """The rows of a study that count, the fastest first; those that did not end come last."""

    def __init__(self, folder: str) -> None:
        from dse.studies.recorded import RUNS
        from dse.studies.recorded.stored import FilesOfRows
        from dse.studies.store import StudyStore

        self.store = StudyStore(folder, RUNS)
        self.files = FilesOfRows()
        rows, self.left_out, self.changed = self.files.standing(self.store.reading(self.store.rows))
        self.rows = sorted(rows, key=lambda row: (row.wall_time_ns is None, row.wall_time_ns or 0))

    def chosen(self, arguments: Arguments) -> Case:
        """Return the case of the row that `point` names, else of the fastest one."""
        from dse.studies.store.lookup import row_of_key

        if "point" in arguments.values:
            return self.files.case(row_of_key(self.store, arguments.values["point"]))
        return self.files.case(self.rows[0])


def _doubts(rows: Sequence[RunRow]) -> list[str]:
    """Why figures of a study's recorded steps cannot be trusted, a sentence for each step."""
    from dse.simulation.recorded.replay import Replay

    found = []
    for row in rows:
        if row.trusted is False:
            error = row.replay_error_pct
            known = "has no measured time" if error is None else f"is off by {error:+.1f} %"
            is_near = error is not None and Replay.is_near(error / 100)
            reason = "files of ranks are missing" if is_near else f"the unchanged replay {known}"
            found.append(f"{row.traces}: {reason}, so no what-if of it can be trusted")
    return list(dict.fromkeys(found))


def _best(study: _Study, arguments: Arguments) -> None:
    from dse.studies.recorded.table import rows_text

    print_notes(study.changed)
    if "--json" in arguments.options:
        print_json([[asdict(row) for row in study.rows]])
    else:
        print(rows_text(study.rows))


def _explain(study: _Study, arguments: Arguments) -> None:
    from dse.answers.runs import parts_of

    case = study.chosen(arguments)
    parts = parts_of(case)
    if "--json" in arguments.options:
        print_json([{"key": case.key, "system": case.place, "asked": dict(case.asked), **parts.to_json()}])
        return
    asked = [f"{key}={value}" for key, value in case.asked.items()]
    print(printable(" ".join([f"{case.traces.name}:", case.place, *asked])))
    print("\n".join(["", *map(printable, parts.lines())]))


def _timeline(study: _Study, arguments: Arguments) -> None:
    from dse.answers.runs.timeline import timeline_bytes

    output = file(arguments.options, "--output") or beside(arguments.words[0], ".trace.json")
    _write(output, timeline_bytes(study.chosen(arguments), is_packed=output.suffix == ".gz"))


def _report(study: _Study, arguments: Arguments) -> None:
    from dse.answers.runs.page import render_page

    output = file(arguments.options, "--output") or beside(arguments.words[0], ".html")
    wanted = [study.files.case(row) for row in study.rows]
    _write(output, render_page(wanted[0].traces, wanted, study.rows).encode())


def _write(output: Path, data: bytes) -> None:
    check_output(output, "--output")
    write_output(output, data, "--output")
    print(f"{output}: written")


_ANSWERS: Mapping[str, tuple[Callable[[_Study, Arguments], None], tuple[str, ...]]] = {
    "best": (_best, ("--json",)),
    "explain": (_explain, ("point", "--json")),
    "timeline": (_timeline, ("point", "--output")),
    "report": (_report, ("--output",)),
}
