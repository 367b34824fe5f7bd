"""`dse timeline results/<study> point=KEY`: what ranks do, and when."""

from __future__ import annotations

import gzip
import io
import sys

from dse.answers import subjects
from dse.answers.fidelities import fidelity_of
from dse.answers.timelines import TimelineOptions, write_point
from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.settings.values import file, whole
from dse.base.units import format_bytes
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    GROUP,
    STUDY,
    asked_cap,
    beside,
    print_notes,
    reading,
    without_cap,
)
from dse.commands.stored_runs import answered
from dse.studies.points import point_of_row
from dse.studies.store import StudyRow, StudyStore
from dse.studies.store.lookup import row_of_key

COMMAND = CommandLine(
    "timeline",
    "Simulate a stored point again and write its timeline in the trace-event format, which ui.perfetto.dev "
    "and chrome://tracing open: a process for each class of ranks, a track for computation and for each "
    "communicator group, memory as a counter, dependencies as arrows. Of a predicted point, the passes of "
    "each pipeline stage.",
    words=STUDY,
    keys={
        "keys": {
            "point": "draw this point instead of the best one: the first digits of its key",
            **GROUP,
            **CAP,
            "max_events": f"bounds the file (default {TimelineOptions.max_events})",
            "classes": "only these classes of ranks, or stages, such as 0,1",
        }
    },
    options={
        "--output": Option(
            "default: beside the study, results/<study>.trace.json; NAME.json.gz is compressed", "FILE", "-o"
        ),
        **without_cap("the best of all"),
        "--no-flows": Option("leave out the arrows of dependencies"),
    },
    exclusive=(CAP_OR_NONE, ("point", "group")),
)


def chosen_row(arguments: Arguments) -> tuple[StudyRow, list[str]]:
    """Return the row of a key, or the one that stands for the study, and notes.

    Raises:
        InputError: no such row; options without effect; or several groups, and none is chosen.
    """
    (study,), values = arguments.words, arguments.values
    store = StudyStore(study)
    cap = asked_cap(arguments)
    if "point" in values:
        if cap is not None:
            raise InputError("point names the point, so a memory cap has no effect; leave it out")
        return row_of_key(store, values["point"]), []
    answer = subjects(store, cap, number=whole(values, "group", None))
    if len(answer.found) > 1:
        titles = "; ".join(f"{subject.number}: {subject.title}" for subject in answer.found)
        raise InputError(f"{study} has several best points; choose with group=N ({titles}) or point=KEY")
    (subject,) = answer.found
    assert subject.row is not None
    return subject.row, [*answer.notes, *([subject.note] if subject.note else [])]


def classes_of(text: str | None) -> list[int] | None:
    """Return the numbers in a list such as "0,1"; None for none.

    Raises:
        InputError: something else than whole numbers.
    """
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"classes is '{text}'; it must be numbers such as 0,1") from None


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Write the timeline; return the exit code."""
    if answered("timeline", arguments):
        return 0
    values = arguments.values
    options = TimelineOptions(
        whole(values, "max_events", TimelineOptions.max_events),
        classes_of(values.get("classes")),
        flows="--no-flows" not in arguments.options,
    )
    output = file(arguments.options, "--output") or beside(arguments.words[0], ".trace.json")
    check_output(output, "--output")
    row, notes = chosen_row(arguments)
    print_notes(notes)
    point = point_of_row(row)
    about = {
        "model": point.scenario.model.name,
        "system": point.scenario.system.name,
        "strategy": point.strategy.label(),
        "key": point.key,
        "fidelity": fidelity_of(point.scenario.model_spec, point.scenario.options),
    }
    text = io.StringIO()
    summary, reason = write_point(point, text, options, about)
    data = text.getvalue().encode()
    if output.suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # the same point gives the same file
    write_output(output, data, "--output")
    named = " ".join(about[name] for name in ("model", "system", "strategy", "key"))
    print(f"{output}: {named}, {about['fidelity']}, {format_bytes(len(data))}")
    print(summary.describe())
    if reason:
        print(f"note: {reason}", file=sys.stderr)
    return 0
