"""`python -m dse.timeline results/<study> --point KEY -o trace.json`: what ranks do, and when."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from dse.cli import ArgumentParser, run
from dse.errors import InputError
from dse.files import write_output
from dse.points import run_point
from dse.results import StudyRow, StudyStore, best
from dse.simulators import NativeSimulator
from dse.timelines import TimelineOptions, write_timeline
from dse.units import format_bytes
from dse.whatif.rebuild import point_of_row, row_of_key


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.timeline",
        description="Simulate a stored point again and write its timeline in the trace-event format, which "
        "ui.perfetto.dev and chrome://tracing open: a process for each class of ranks, a track for "
        "computation and for each communicator group, memory as a counter, dependencies as arrows.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument("--point", metavar="KEY", help="first digits of a key; default: the fastest point")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("trace.json"),
        help="default %(default)s; NAME.json.gz is compressed",
    )
    parser.add_argument(
        "--max-events",
        type=int,
        default=TimelineOptions.max_events,
        help="bounds the file; default %(default)s",
    )
    parser.add_argument("--classes", metavar="N,N", help="only these classes of ranks, such as 0,1")
    parser.add_argument("--no-flows", action="store_true", help="leave out the arrows of dependencies")
    return parser


def chosen_row(study: str, key: str | None) -> StudyRow:
    """Return the row of a key, or the fastest one.

    Raises:
        InputError: no such row.
    """
    store = StudyStore(study)
    row = best(store.read_table()) if key is None else row_of_key(store, key)
    if row is None:
        raise InputError(
            f"no point of {study} is ok, so there is no fastest one; choose one with --point KEY"
        )
    return row


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
    point = point_of_row(chosen_row(arguments.study, arguments.point))
    workload, _ = run_point(point)
    recording = NativeSimulator().record(workload, point.scenario.system, strategy=point.strategy)
    about = {
        "model": point.scenario.model.name,
        "system": point.scenario.system.name,
        "strategy": point.strategy.label(),
        "key": point.key,
    }
    text = io.StringIO()
    summary = write_timeline(recording, text, options, about)
    data = text.getvalue().encode()
    if arguments.output.suffix == ".gz":
        data = gzip.compress(data, mtime=0)  # the same point gives the same file
    write_output(arguments.output, data, "--output")
    print(f"{arguments.output}: {' '.join(about.values())}, {format_bytes(len(data))}")
    print(summary.describe())
    if recording.outcome.status != "ok":
        print(f"note: {recording.outcome.reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    run(main)
