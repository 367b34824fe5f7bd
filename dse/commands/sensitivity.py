"""`dse sensitivity results/<study>`: what if the system were another one, around the best point."""

from __future__ import annotations

from dataclasses import replace

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings.values import file, listed, whole
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    GROUP,
    JSON,
    STUDY,
    asked_cap,
    print_json,
    print_notes,
    reading,
    without_cap,
    write_csv,
)

DEFAULT_FACTORS = "0.5,0.8,1.25,2"


COMMAND = CommandLine(
    "sensitivity",
    "Vary each number of the system around the best point of each group of a study: how the wall time "
    "follows, and where another strategy wins.",
    words=STUDY,
    keys={
        "keys": {
            "point": "vary around this point: the first digits of its key",
            **GROUP,
            **CAP,
            "factors": f"by which parameters are multiplied (default {DEFAULT_FACTORS})",
            "parameters": "only these: peak_tflops,network.0.latency_ns",
            "csv": "write a line for each parameter and factor to this CSV file as well",
            "plot": "draw into this .png, .svg or .html",
        }
    },
    options={
        **without_cap("whatever fits; for a study without peak memories"),
        "--no-switches": Option("do not look for what else wins; much faster"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group")),
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the reports; return the exit code."""
    values = arguments.values
    number, csv, plot = whole(values, "group", None), file(values, "csv"), file(values, "plot")
    parameters = listed("parameters", values["parameters"]) if "parameters" in values else []
    cap = asked_cap(arguments)
    factors = _factors(values.get("factors", DEFAULT_FACTORS))
    from dse.answers import subjects
    from dse.answers.whatif.plot import check_plot, write_plot
    from dse.answers.whatif.report import CSV_COLUMNS, csv_rows, render, report
    from dse.base.files import check_output
    from dse.studies.store import StudyStore

    if csv is not None:
        check_output(csv, "csv")
    if plot is not None:
        check_plot(plot)
        check_output(plot, "plot")
    store = StudyStore(arguments.words[0])
    found = subjects(store, cap, key=values.get("point"), number=number, with_candidates=True)
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
            parameters=parameters,
            switches="--no-switches" not in arguments.options,
            note=subject.note,
        )
        reports.append(replace(answer, heading=subject.heading))
    if "--json" in arguments.options:
        print_json([answer.to_json() for answer in reports])
    else:
        print("\n\n".join(render(answer) for answer in reports))
    if csv is not None:
        write_csv(csv, csv_rows(reports), CSV_COLUMNS)
    if plot is not None:
        write_plot(reports, plot)
    return 0


def _factors(text: str) -> list[float]:
    try:
        factors = [float(factor) for factor in text.split(",")]
    except ValueError:
        raise InputError(
            f"factors is '{text}'; it must be a list of numbers such as {DEFAULT_FACTORS}"
        ) from None
    if len(set(factors)) < len(factors):
        raise InputError(f"factors is '{text}'; a list has different numbers, such as {DEFAULT_FACTORS}")
    return factors
