"""`python -m dse.report results/<study> -o report.html`: a study as one page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.best import DEFAULT_MEMORY_CAP
from dse.cli import ArgumentParser, run
from dse.errors import InputError
from dse.files import make_folder, write_output
from dse.results import StudyStore
from dse.units import format_bytes, parse_bytes

DEFAULT_MAX_POINTS = 2000


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog="python -m dse.report",
        description="Write a study as one HTML page: the best strategies, plots, failures and provenance.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="the page (default %(default)s)"
    )
    cap = parser.add_mutually_exclusive_group()
    cap.add_argument(
        "--memory-cap",
        metavar="BYTES",
        default=DEFAULT_MEMORY_CAP,
        help="largest peak memory of a rank, with a unit: 80GB = 80e9 bytes, 80GiB = 80 * 2^30 "
        "(default %(default)s)",
    )
    cap.add_argument("--no-memory-cap", dest="memory_cap", action="store_const", const=None, help="no cap")
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
    cap = None if arguments.memory_cap is None else parse_bytes(arguments.memory_cap, "--memory-cap")
    limit = arguments.max_points
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10 and int(limit) > 0):
        raise InputError(f"--max-points '{limit}' must be an integer from 1, such as {DEFAULT_MAX_POINTS}")
    output = Path(arguments.output)
    if output.is_dir():
        raise InputError(f"-o '{output}' is a folder; name a file in it, such as {output / 'report.html'}")
    from dse.reports import render_page, report_data

    store = StudyStore(arguments.study)
    data = report_data(store, memory_cap_bytes=cap, title=arguments.title, max_points=int(limit))
    page = render_page(data).encode()
    make_folder(output.parent)
    write_output(output, page, "--output")
    print(f"{output}: {format_bytes(len(page))}, open it in a browser")
    return 0


if __name__ == "__main__":
    run(main)
