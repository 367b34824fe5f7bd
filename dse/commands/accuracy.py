"""`dse accuracy [ROWS.csv ...]`: predicted against measured training steps, by source, and as a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.commands.cli import ArgumentParser, add_output, called_as, print_json, print_notes, write_csv

if TYPE_CHECKING:
    from dse.prediction.accuracy.accuracy import Accuracy
    from dse.prediction.measured.rows import MeasuredRow


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("accuracy"),
        description="Predict the training steps of a table of measurements under fidelity=realistic, and say "
        "how far off the predictions are. Nothing is fitted, unless with --cross-validate.",
    )
    parser.add_argument(
        "rows",
        nargs="*",
        type=Path,
        metavar="ROWS.csv",
        help="tables with a row per run, see docs/accuracy.md (default: the published runs that dse brings)",
    )
    parser.add_argument(
        "--accelerator",
        action="append",
        default=[],
        metavar="FILE",
        help="predict rows of this GPU with the constants of this file, as dse calibrate writes it",
    )
    parser.add_argument(
        "--limit-s", type=float, metavar="SECONDS", help="give up a row that takes longer, with a reason"
    )
    parser.add_argument(
        "--by", default="", metavar="COLUMNS", help="errors by these columns of the tables too: source,gpu"
    )
    parser.add_argument("--parts", action="store_true", help="list where the predicted time goes, by source")
    parser.add_argument(
        "--worst", type=int, default=0, metavar="N", help="list the N rows with the largest errors"
    )
    parser.add_argument(
        "--cross-validate",
        action="store_true",
        help="fit the constants again without each source, and say its error with those; takes minutes",
    )
    parser.add_argument(
        "--folds",
        metavar="NAME",
        help="with --cross-validate: leave out a source at a time (source), a fifth of the models (model) "
        "or runs of up to 8, 64, 512 and more GPUs (scale)",
    )
    add_output(parser, csv="a line for each row, with the parts of its step,")
    parser.add_argument("--page", metavar="FILE", type=Path, help="write a page with scatter plots (HTML)")
    return parser


def main(argv: Sequence[str]) -> int:
    """Print the errors; return the exit code. Rows without a prediction are part of the answer.

    Raises:
        InputError: a table or an option is wrong, or an output cannot be written.
    """
    arguments = parser().parse_args(argv)
    if arguments.limit_s is not None and not 0 < arguments.limit_s < 1e6:
        raise InputError(f"--limit-s is {arguments.limit_s:g}; it must be above 0 and below 1e6 seconds")
    if arguments.worst < 0:
        raise InputError(f"--worst is {arguments.worst}; it must be 0 or more rows")
    if arguments.folds is not None and not arguments.cross_validate:
        raise InputError("--folds says what --cross-validate leaves out; give both")
    by = _columns(arguments.by)
    from dse.base.files import check_output, write_output
    from dse.prediction.accuracy.output import csv_rows, render, to_json
    from dse.prediction.steps.prediction import PARTS

    for path, option in ((arguments.csv, "--csv"), (arguments.page, "--page")):
        if path is not None:
            check_output(path, option)
    rows = _rows(arguments.rows, arguments.accelerator)
    folds = (arguments.folds or "source") if arguments.cross_validate else ""
    found = _accuracy(rows, by, arguments.limit_s, folds)
    print_notes(found.notes)
    if arguments.json:
        print_json([to_json(found)])
    else:
        print(render(found, parts=arguments.parts, worst=arguments.worst))
    if arguments.csv is not None:
        write_csv(arguments.csv, csv_rows(found, PARTS), ["id"])
    if arguments.page is not None:
        from dse.prediction.accuracy.page import render_page

        write_output(arguments.page, render_page(found).encode(), "--page")
    return 0


def _columns(text: str) -> list[str]:
    from dse.prediction.measured.rows import COLUMNS

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in COLUMNS:
            raise InputError(
                f"--by '{name}' is no column; allowed are {', '.join(COLUMNS)}{did_you_mean(name, COLUMNS)}"
            )
    return names


def _rows(paths: Sequence[Path], accelerators: Sequence[str]) -> list[MeasuredRow]:
    """The rows of tables, or those that dse brings; some with an accelerator of the user's."""
    from dse.prediction.measured.published import published_rows
    from dse.prediction.measured.rows import read_tables, unread_notes

    rows = read_tables(paths) if paths else published_rows()
    print_notes(unread_notes(paths))
    for name in accelerators:
        from dse.prediction.calibration.subjects import Subject

        own = {row.id: row for row in Subject.named(name).rows(rows)}
        rows = [own.get(row.id, row) for row in rows]
    return rows


def _accuracy(rows: Sequence[MeasuredRow], by: Sequence[str], limit_s: float | None, folds: str) -> Accuracy:
    from dse.prediction.accuracy.accuracy import accuracy
    from dse.prediction.accuracy.comparison import compare
    from dse.prediction.accuracy.folds import fold_names

    if folds:
        fold_names((), folds)  # an unknown name is refused before predictions are made
    compared = compare(rows, limit_s=limit_s)
    if not folds:
        return accuracy(compared, by)
    from dse.prediction.calibration.subjects import left_out_errors
    from dse.prediction.measured.published import never_fitted

    shown_only = never_fitted()
    return accuracy(compared, by, left_out_errors([row for row in rows if row.id not in shown_only], folds))
