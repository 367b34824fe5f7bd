"""`dse partition graph=FILE devices=NAME`: the device of each node of a model, and how good that is."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base import command_lines
from dse.base.command_lines import CommandLine, Option
from dse.base.settings.values import file
from dse.commands.cli import print_notes, reading
from dse.partition.problem.arguments import GROUPS, KEYS, Arguments, question_of

if TYPE_CHECKING:
    from dse.partition.question import GraphPartition

_SHOWN_NOTES = 8
COMMAND = CommandLine(
    "partition",
    "Place the nodes of a model graph on devices, with a bound on what is possible where one is known.",
    keys=KEYS,
    options={
        "--output": Option(
            "write partition.json, nodes.parquet, devices.parquet, the page index.html, and trace.json of a "
            "pipelined step where weights are times",
            "DIR",
            "-o",
        )
    },
    groups=GROUPS,
    choices={"format": ("table", "json", "csv")},
    example="graph=FILE.json",
    synopsis=("graph=FILE|model=NAME [devices=NAME|FILE.csv|N] [KEY=VALUE ...] [-o DIR]",),
)


@reading(COMMAND)
def main(arguments: command_lines.Arguments) -> int:
    """Search, print the answer, write the folder; return the exit code."""
    return _partition(question_of(arguments.values, arguments.overrides), file(arguments.options, "--output"))


def _partition(arguments: Arguments, folder: Path | None) -> int:
    from dse.base.files import check_folder
    from dse.partition.problem.settings import asked_problems
    from dse.partition.question import partitioned
    from dse.studies.composed import composed

    values = arguments.values
    form = values.get("format", "table")
    if folder is not None:
        check_folder(folder, "-o")
    answer = partitioned(asked_problems(arguments, composed()), values, shows_step=folder is not None)
    notes = [*answer.notes[:_SHOWN_NOTES]]
    try:
        _print(form, answer)
    finally:  # also for who stops reading at the first line
        if folder is not None:
            from dse.partition.files.output import write_folder

            timeline = _timeline(answer)
            write_folder(folder, answer.asked, answer.found, answer.devices, answer.step.data, timeline)
            notes.append(f"stored in {folder}")
    print_notes(notes)
    return 0


def _timeline(answer: GraphPartition) -> str:
    """Return the step of the pipeline for Perfetto; empty where none is known."""
    from dse.answers.timelines import write_timeline
    from dse.answers.timelines.pipeline import write_operations

    text, step, asked = io.StringIO(), answer.step, answer.asked
    about = {"graph": asked.source.name, "schedule": step.data.get("schedule", "")}
    if step.recording is not None:
        about["micro-batches"] = str(step.data["micro_batches"])
        write_timeline(step.recording, text, None, about)
    elif asked.layers is not None:
        write_operations(step.operations, asked.layers.plan.pp, text, about=about)
    return text.getvalue()


def _print(form: str, answer: GraphPartition) -> None:
    from dse.partition.files.results import to_json

    if form == "json":
        others = [to_json(answer.asked.problem, one) for one in answer.found[1:]]
        _print_json([answer.data(), *others], answer.step.data)
    elif form == "csv":
        _print_csv(answer)
    else:
        print(answer.text())
        if answer.step.data:
            print(f"\n{answer.step.text()}")
    sys.stdout.flush()


def _print_json(found: list[dict[str, Any]], step: dict[str, Any]) -> None:
    if step:
        found[0]["step"] = {key: value for key, value in step.items() if key != "bars"}
    print(
        json.dumps(
            found[0] if len(found) == 1 else found, indent=None if len(found[0]["labels"]) > 100 else 2
        )
    )


def _print_csv(answer: GraphPartition) -> None:

    from dse.base.files import csv_text

    lines = [asdict(row) for row in answer.devices]
    print(csv_text(list(lines[0]), [list(line.values()) for line in lines]), end="")
