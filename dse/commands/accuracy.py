"""`dse accuracy [ROWS.csv ...]`: predicted against measured training steps, by source, and as a ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import MANY, Arguments, CommandLine, Option
from dse.base.errors import InputError, did_you_mean
from dse.base.settings.values import Values, entries, file, number, whole
from dse.commands.cli import JSON, print_json, print_notes, reading, write_csv

if TYPE_CHECKING:
    from dse.prediction.accuracy.accuracy import Accuracy
    from dse.prediction.accuracy.comparison import Compared
    from dse.prediction.intervals.coverage import Coverage
    from dse.prediction.measured.rows import MeasuredRow


COMMAND = CommandLine(
    "accuracy",
    "Predict the training steps of a table of measurements under fidelity=realistic, and say how far off the "
    "predictions are. Nothing is fitted, unless with --cross-validate.",
    words={
        "ROWS.csv": "tables with a row per run, see docs/accuracy.md (default: the published runs that dse "
        "brings)"
    },
    least=0,
    most=MANY,
    keys={
        "keys": {
            "accelerator": "predict rows of this GPU with the constants of this file, as dse calibrate "
            "writes it; or of several: [a.yaml,b.yaml]",
            "limit_s": "give up a row that takes longer, with a reason",
            "by": "errors by these columns of the tables too: source,gpu",
            "worst": "list so many rows with the largest errors",
            "folds": "with --cross-validate: leave out a source at a time (source), a fifth of the models "
            "(model) or runs of up to 8, 64, 512 and more GPUs (scale)",
            "csv": "write a line for each row, with the parts of its step, to this CSV file as well",
            "page": "write a page with scatter plots to this HTML file",
        }
    },
    options={
        "--kernels": Option(
            "the tables are of kernels and collectives, in Parquet or CSV (docs/kernels.md): errors of their "
            "laws; accelerator= may name a file that dse calibrate kernels= wrote"
        ),
        "--parts": Option("list where the predicted time goes, by source"),
        "--coverage": Option(
            "say by kind how often measured steps lie in their interval; that of a published run is made "
            "without runs of its model"
        ),
        "--cross-validate": Option(
            "fit the constants again without each source, and say its error with those"
        ),
        **JSON,
    },
    repeated=("accelerator",),
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the errors; return the exit code. Rows without a prediction are part of the answer.

    Raises:
        InputError: a table or an option is wrong, or an output cannot be written.
    """
    values, options = arguments.values, arguments.options
    if "--kernels" in options:
        return _kernels([Path(word) for word in arguments.words], values, options)
    limit_s = number(values, "limit_s", None, above=0, below=1e6)
    worst = whole(values, "worst", 0)
    if "folds" in values and "--cross-validate" not in options:
        raise InputError("folds says what --cross-validate leaves out; give both")
    by = _columns(values.get("by", ""))
    csv, page = file(values, "csv"), file(values, "page")
    from dse.base.files import check_output, write_output
    from dse.prediction.accuracy.output import coverage_table, csv_rows, render, to_json
    from dse.prediction.steps.predict import PARTS

    for path, key in ((csv, "csv"), (page, "page")):
        if path is not None:
            check_output(path, key)
    rows = _rows(
        [Path(word) for word in arguments.words],
        entries("accelerator", values["accelerator"]) if "accelerator" in values else (),
    )
    folds = values.get("folds", "source") if "--cross-validate" in options else ""
    found = _accuracy(rows, by, limit_s, folds)
    covered = _coverages(found.compared, arguments.words) if "--coverage" in options else []
    print_notes(found.notes)
    if "--json" in options:
        print_json([{**to_json(found), "coverage": [asdict(line) for line in covered]}])
    else:
        print(render(found, parts="--parts" in options, worst=worst))
        if covered:
            print(f"\n{coverage_table(covered)}")
    if csv is not None:
        write_csv(csv, csv_rows(found, PARTS), ["id"])
    if page is not None:
        from dse.prediction.accuracy.page import render_page

        write_output(page, render_page(found).encode(), "page")
        print_notes([f"wrote {page}"])
    return 0


def _kernels(paths: Sequence[Path], values: Values, options: Values) -> int:
    """Print the errors of the laws of kernels on tables of them."""
    if not paths:
        raise InputError("no table of kernels is given, such as gemm.parquet; see docs/kernels.md")
    for name in (*values, *(option for option in options if option not in ("--kernels", "--json"))):
        if name != "accelerator":
            raise InputError(f"{name} is for tables of training steps; with --kernels, leave it out")
    from dse.prediction.kernels.errors import errors_plain, errors_text, kernel_errors
    from dse.prediction.kernels.machine import KernelMachine
    from dse.prediction.kernels.tables import read_tables

    own = KernelMachine.named(values["accelerator"]) if "accelerator" in values else None
    tables, unread = read_tables(paths)
    errors, notes = kernel_errors(tables, own)
    print_notes([*unread, *notes])
    if "--json" in options:
        print_json([{"errors": errors_plain(errors)}])
    else:
        print(errors_text(errors))
    return 0


def _coverages(compared: Sequence[Compared], paths: Sequence[str]) -> list[Coverage]:
    """How often rows lie in their interval: those of tables in that of their prediction.

    Raises:
        InputError: no row has an interval.
    """
    from dse.prediction.intervals.coverage import Held, coverages, held_out
    from dse.prediction.intervals.unseen import unseen_runs

    held = [
        Held(one.interval.kind, math.log(one.predicted_s / one.row.iter_s), one.interval)
        for one in compared
        if one.interval is not None
    ]
    held = held if paths else held_out(unseen_runs())
    if not held:
        raise InputError("--coverage: no row has a prediction with an interval; see the reasons without it")
    return coverages(held)


def _columns(text: str) -> list[str]:
    from dse.prediction.measured.rows import COLUMNS

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in COLUMNS:
            raise InputError(
                f"by: '{name}' is no column; allowed are {', '.join(COLUMNS)}{did_you_mean(name, COLUMNS)}"
            )
    return names


def _rows(paths: Sequence[Path], accelerators: Sequence[str]) -> list[MeasuredRow]:
    """The rows of tables, or those that dse brings; some with an accelerator of the user's."""
    from dse.prediction.measured.rows import published_rows, read_tables, unread_notes

    rows = read_tables(paths) if paths else published_rows()
    print_notes(unread_notes(paths))
    for name in accelerators:
        from dse.prediction.calibration.subjects import Subject

        own = {row.id: row for row in Subject.named(name).rows(rows)}
        rows = [own.get(row.id, row) for row in rows]
    return rows


def _accuracy(rows: Sequence[MeasuredRow], by: Sequence[str], limit_s: float | None, folds: str) -> Accuracy:
    from dse.prediction.accuracy.accuracy import accuracy, fold_names
    from dse.prediction.accuracy.comparison import compare

    if folds:
        fold_names((), folds)  # an unknown name is refused before predictions are made
    compared = compare(rows, limit_s=limit_s)
    if not folds:
        return accuracy(compared, by)
    from dse.prediction.calibration.subjects import left_out_errors
    from dse.prediction.measured.rows import never_fitted

    shown_only = never_fitted()
    return accuracy(compared, by, left_out_errors([row for row in rows if row.id not in shown_only], folds))
