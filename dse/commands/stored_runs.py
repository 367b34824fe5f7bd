"""Studies of runs of traces, for the verbs that answer about studies: the best run, its parts, its page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dse.base.command_lines import Arguments
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.settings.values import file
from dse.base.texts import printable
from dse.commands.cli import beside, print_json, print_notes
from dse.studies.recorded import RUNS, Case, RunRow, Traces
from dse.studies.recorded.stored import case_of_row, is_study_of_runs
from dse.studies.recorded.table import rows_text
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key


def answered(verb: str, arguments: Arguments) -> bool:
    """Answer about a study of runs; False for a study of anything else.

    Raises:
        InputError: a key or an option that concerns design points only, or files that have changed.
    """
    if not is_study_of_runs(arguments.words[0]):
        return False
    answer, allowed = _ANSWERS[verb]
    foreign = [name for name in (*arguments.values, *arguments.options) if name not in allowed]
    if foreign:
        shown = f"; allowed are {', '.join(allowed)}" if allowed else ""
        raise InputError(f"{foreign[0]} has no effect on a study of runs of traces{shown}")
    store = StudyStore(arguments.words[0], RUNS)
    print_notes(_doubts(store))
    answer(store, arguments)
    return True


def _doubts(store: StudyStore[RunRow]) -> list[str]:
    """Why figures of a study's recorded steps cannot be trusted, a sentence for each step."""
    found = []
    for row in store.reading(store.rows):
        if row.trusted is False:
            error = row.replay_error_pct
            known = "has no measured time" if error is None else f"is off by {error:+.1f} %"
            found.append(f"{row.traces}: the unchanged replay {known}, so no what-if of it can be trusted")
    return list(dict.fromkeys(found))


def _best(store: StudyStore[RunRow], arguments: Arguments) -> None:
    rows = _ranked(store)
    if "--json" in arguments.options:
        from dataclasses import asdict

        print_json([[asdict(row) for row in rows]])
    else:
        print(rows_text(rows))


def _explain(store: StudyStore[RunRow], arguments: Arguments) -> None:
    from dse.answers.runs import parts_of

    case = _chosen(store, arguments)
    parts = parts_of(case)
    if "--json" in arguments.options:
        print_json([{"key": case.key, "system": case.place, "asked": dict(case.asked), **parts.to_json()}])
        return
    asked = [f"{key}={value}" for key, value in case.asked.items()]
    print(printable(" ".join([f"{case.traces.name}:", case.place, *asked])))
    print("\n".join(["", *map(printable, parts.lines())]))


def _timeline(store: StudyStore[RunRow], arguments: Arguments) -> None:
    from dse.answers.runs.timeline import timeline_bytes

    output = file(arguments.options, "--output") or beside(arguments.words[0], ".trace.json")
    _write(output, timeline_bytes(_chosen(store, arguments), is_packed=output.suffix == ".gz"))


def _report(store: StudyStore[RunRow], arguments: Arguments) -> None:
    from dse.answers.runs.page import render_page

    output = file(arguments.options, "--output") or beside(arguments.words[0], ".html")
    rows = _ranked(store)
    known: dict[str, Traces] = {}
    wanted = [case_of_row(row, known) for row in rows]
    _write(output, render_page(wanted[0].traces, wanted, rows).encode())


def _write(output: Path, data: bytes) -> None:
    check_output(output, "--output")
    write_output(output, data, "--output")
    print(f"{output}: written")


def _ranked(store: StudyStore[RunRow]) -> list[RunRow]:
    """The rows, the fastest first; those that did not end come last."""
    rows = store.reading(store.rows)
    return sorted(rows, key=lambda row: (row.wall_time_ns is None, row.wall_time_ns or 0))


def _chosen(store: StudyStore[RunRow], arguments: Arguments) -> Case:
    if "point" in arguments.values:
        return case_of_row(row_of_key(store, arguments.values["point"]))
    return case_of_row(_ranked(store)[0])


_ANSWERS: Mapping[str, tuple[Callable[[StudyStore[RunRow], Arguments], None], tuple[str, ...]]] = {
    "best": (_best, ("--json",)),
    "explain": (_explain, ("point", "--json")),
    "timeline": (_timeline, ("point", "--output")),
    "report": (_report, ("--output",)),
}
