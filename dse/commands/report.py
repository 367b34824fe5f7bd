"""`dse report results/<study>`: a study as one page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.files import check_output, write_output
from dse.base.units import format_bytes
from dse.commands.cli import ArgumentParser, add_memory_cap, asked_cap, beside, called_as, print_notes
from dse.studies.store import StudyStore

if TYPE_CHECKING:
    from dse.answers import Cap

DEFAULT_MAX_POINTS = 2000


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("report"),
        description="Write a study as one HTML page: the best strategies, plots, failures and provenance.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the page (default: beside the study, results/<study>.html; with --live "
        "results/<study>-explorer.html)",
    )
    add_memory_cap(parser, "no cap")
    parser.add_argument("--title", help="the title of the page; by default the question of the study")
    parser.add_argument(
        "--max-points",
        metavar="N",
        default=str(DEFAULT_MAX_POINTS),
        help="points of each question that the page has; of a larger study the best ones and a sample "
        "(default %(default)s)",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="a page in which the engine itself runs, with a slider for every number, as of dse explore",
    )
    return parser


def main(argv: Sequence[str]) -> int:
    """Write the page; return the exit code.

    Raises:
        InputError: the folder is not a readable study, an option is wrong, or the page cannot be written.
    """
    arguments = parser().parse_args(argv)
    asked = asked_cap(arguments)
    limit = arguments.max_points
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and int(limit) > 0):
        raise InputError(f"--max-points '{limit}' must be an integer from 1, such as {DEFAULT_MAX_POINTS}")
    ending = "-explorer.html" if arguments.live else ".html"
    output = beside(arguments.study, ending) if arguments.output is None else Path(arguments.output)
    check_output(output, "--output")
    if arguments.live:
        page = _live_page(arguments.study, asked, arguments.title, int(limit))
        write_output(output, page, "--output")
        print(f"{output}: {format_bytes(len(page))}, open it in a browser")
        return 0
    from dse.answers import study_cap
    from dse.answers.reports import render_page, report_data

    store = StudyStore(arguments.study)
    cap = study_cap(asked, store)
    data = report_data(
        store,
        memory_cap_bytes=cap.size_bytes,
        is_cap_asked=cap.is_asked,
        is_cap_by_system=cap.by_system,
        title=arguments.title,
        max_points=int(limit),
    )
    print_notes([*([cap.note] if cap.note else []), *data["notes"]])
    page = render_page(data).encode()
    write_output(output, page, "--output")
    print(f"{output}: {format_bytes(len(page))}, open it in a browser")
    return 0


def _live_page(study: str, asked: Cap | None, title: str | None, max_points: int) -> bytes:
    """The page of the first question of a study; static, with a note why, where it cannot be live."""
    from dse.answers.explorer import page_data, render_page, subject_of_study, without_engine

    subject, notes = subject_of_study(
        StudyStore(study), cap=asked, title=title, max_points=max_points, reason=without_engine()
    )
    data = page_data(subject)
    print_notes([*notes, *([f"the page is static: {data['why_static']}"] if not data["live"] else [])])
    return render_page(data).encode()
