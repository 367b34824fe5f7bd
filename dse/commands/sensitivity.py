"""`dse sensitivity results/<study>`: what if the system were another one, around the best point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dse.base.errors import InputError
from dse.commands.cli import (
    ArgumentParser,
    add_group,
    add_memory_cap,
    add_output,
    asked_cap,
    called_as,
    print_json,
    print_notes,
    write_csv,
)

DEFAULT_FACTORS = "0.5,0.8,1.25,2"


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("sensitivity"),
        description="Vary each number of the system around the best point of each group of a study: how the "
        "wall time follows, and where another strategy wins.",
    )
    parser.add_argument("study", help="the folder of a study, such as results/llama70b-system1")
    add_group(parser, point="vary around this point")
    add_memory_cap(parser, "whatever fits; for a study without peak memories")
    parser.add_argument(
        "--factors", default=DEFAULT_FACTORS, help="by which parameters are multiplied (default %(default)s)"
    )
    parser.add_argument(
        "--parameters",
        default="",
        metavar="KEYS",
        help="only these: peak_tflops,network.0.latency_ns",
    )
    parser.add_argument(
        "--no-switches", action="store_true", help="do not look for what else wins; much faster"
    )
    add_output(parser, csv="a line for each parameter and factor")
    parser.add_argument("--plot", metavar="FILE", type=Path, help="draw into a .png, .svg or .html")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the reports; return the exit code.

    Raises:
        InputError: the folder is not a readable study, an option is wrong, no point fits, or points of the
            study cannot be evaluated again.
    """
    arguments = parser().parse_args(argv)
    cap = asked_cap(arguments)
    factors = _factors(arguments.factors)
    from dse.answers import subjects
    from dse.answers.whatif.plot import check_plot, write_plot
    from dse.answers.whatif.report import CSV_COLUMNS, csv_rows, render, report
    from dse.base.files import check_output
    from dse.studies.store import StudyStore

    if arguments.csv is not None:
        check_output(arguments.csv, "--csv")
    if arguments.plot is not None:
        check_plot(arguments.plot)
        check_output(arguments.plot, "--plot")
    store = StudyStore(arguments.study)
    found = subjects(store, cap, key=arguments.point, number=arguments.group, with_candidates=True)
    print_notes(found.notes)
    reports = []
    for subject in found.found:
        row = subject.row
        assert row is not None
        if row.status != "ok":
            raise InputError(f"point {row.key} is {row.status}, so it has no wall time: {row.reason}")
        answer = report(
            subject.title,
            subject.candidates,
            row,
            factors,
            memory_cap_bytes=subject.memory_cap_bytes,
            parameters=[key.strip() for key in arguments.parameters.split(",") if key.strip()],
            switches=not arguments.no_switches,
            note=subject.note,
        )
        reports.append(replace(answer, heading=subject.heading))
    if arguments.json:
        print_json([answer.to_json() for answer in reports])
    else:
        print("\n\n".join(render(answer) for answer in reports))
    if arguments.csv is not None:
        write_csv(arguments.csv, csv_rows(reports), CSV_COLUMNS)
    if arguments.plot is not None:
        write_plot(reports, arguments.plot)
    return 0


def _factors(text: str) -> list[float]:
    try:
        return [float(factor) for factor in text.split(",")]
    except ValueError:
        raise InputError(f"--factors '{text}' is not a list of numbers such as {DEFAULT_FACTORS}") from None
