"""`dse timeline results/<study> --point KEY`: what ranks do, and when."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.answers import subjects
from dse.answers.fidelities import fidelity_of
from dse.answers.timelines import TimelineOptions, write_pipeline, write_timeline
from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.units import format_bytes
from dse.commands.cli import (
    ArgumentParser,
    add_group,
    add_memory_cap,
    asked_cap,
    beside,
    called_as,
    print_notes,
)
from dse.studies.points import point_of_row, record_point
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key

if TYPE_CHECKING:
    from argparse import Namespace

    from dse.studies.store import StudyRow


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("timeline"),
        description="Simulate a stored point again and write its timeline in the trace-event format, which "
        "ui.perfetto.dev and chrome://tracing open: a process for each class of ranks, a track for "
        "computation and for each communicator group, memory as a counter, dependencies as arrows. Of a "
        "predicted point, the passes of each pipeline stage.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    add_group(parser, point="draw this point instead of the best one")
    add_memory_cap(parser, "the best of all")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="default: beside the study, results/<study>.trace.json; NAME.json.gz is compressed",
    )
    parser.add_argument(
        "--max-events",
        type=int,
        default=TimelineOptions.max_events,
        help="bounds the file; default %(default)s",
    )
    parser.add_argument(
        "--classes", metavar="N,N", help="only these classes of ranks, or stages, such as 0,1"
    )
    parser.add_argument("--no-flows", action="store_true", help="leave out the arrows of dependencies")
    return parser


def chosen_row(arguments: Namespace) -> tuple[StudyRow, list[str]]:
    """Return the row of a key, or the one that stands for the study, and notes.

    Raises:
        InputError: no such row; options without effect; or several groups, and none is chosen.
    """
    store = StudyStore(arguments.study)
    cap = asked_cap(arguments)
    if arguments.point is not None:
        if cap is not None:
            raise InputError("--point names the point, so a memory cap has no effect; leave it out")
        return row_of_key(store, arguments.point), []
    answer = subjects(store, cap, number=arguments.group)
    if len(answer.found) > 1:
        titles = "; ".join(f"{subject.number}: {subject.title}" for subject in answer.found)
        raise InputError(
            f"{arguments.study} has several best points; choose with --group N ({titles}) or --point KEY"
        )
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
        raise InputError(f"--classes is '{text}'; it must be numbers such as 0,1") from None


def main(argv: Sequence[str]) -> int:
    """Write the timeline; return the exit code.

    Raises:
        InputError: no such study or point, a point that cannot be evaluated again, or a file that cannot be
            written.
    """
    arguments = parser().parse_args(argv)
    options = TimelineOptions(
        arguments.max_events, classes_of(arguments.classes), flows=not arguments.no_flows
    )
    output = arguments.output or beside(arguments.study, ".trace.json")
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
    reason = ""
    if point.scenario.is_predicted:
        summary = write_pipeline(point, text, options, about)
    else:
        recording = record_point(point)
        summary = write_timeline(recording, text, options, about)
        reason = "" if recording.outcome.status == "ok" else recording.outcome.reason
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
