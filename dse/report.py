"""`dse report results/<study>`: a study as one page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.cli import ArgumentParser, add_memory_cap, asked_cap, beside, called_as, print_notes, run
from dse.errors import InputError
from dse.files import check_output, write_output
from dse.studies import StudyStore
from dse.units import format_bytes

DEFAULT_MAX_POINTS = 2000


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("report"),
        description="Write a study as one HTML page: the best strategies, plots, failures and provenance.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page (default: beside the study, results/<study>.html)"
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
    output = beside(arguments.study, ".html") if arguments.output is None else Path(arguments.output)
    check_output(output, "--output")
    from dse.answers import study_cap
    from dse.reports import render_page, report_data

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


if __name__ == "__main__":
    run(main)
