"""`dse partition graph=FILE devices=NAME`: the device of each node of a model, and how good that is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base import command_lines
from dse.base.command_lines import CommandLine, Option
from dse.base.settings.values import file, whole
from dse.commands.cli import print_notes, reading
from dse.partition.problem.arguments import GROUPS, KEYS, MOST, Arguments, question_of

if TYPE_CHECKING:
    from dse.partition.graphs.layers import Layers
    from dse.partition.problem.problem import Partition
    from dse.partition.problem.settings import Asked
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
    from dse.partition.problem.settings import asked_problem
    from dse.partition.question import partitioned
    from dse.studies.composed import composed

    form = arguments.values.get("format", "table")
    if folder is not None:
        check_folder(folder, "-o")
    answer = partitioned(asked_problem(arguments, composed()), arguments.values)
    step, trace = _step(arguments, answer.asked, answer.best, is_stored=folder is not None)
    notes = [*answer.notes[:_SHOWN_NOTES]]
    try:
        _print(form, answer, step)
    finally:  # also for who stops reading at the first line
        if folder is not None:
            from dse.partition.files.output import write_folder

            write_folder(folder, answer.asked, answer.found, answer.devices, step, trace)
            notes.append(f"stored in {folder}")
    print_notes(notes)
    return 0


def _print(form: str, answer: GraphPartition, step: Any) -> None:
    from dse.partition.files.results import to_json

    if form == "json":
        _print_json([to_json(answer.asked.problem, one) for one in answer.found], step)
    elif form == "csv":
        _print_csv(answer)
    else:
        print(answer.text())
        if step:
            print(f"\n{_step_text(step)}")
    sys.stdout.flush()


def _step(
    arguments: Arguments, asked: Asked, best: Partition, *, is_stored: bool
) -> tuple[dict[str, Any], str]:
    """Simulate a pipelined step where one is asked for, or can be shown; its data and its timeline."""
    from dse.base.errors import InputError

    if asked.layers is not None:
        return _predicted(asked.layers, best)
    values = arguments.values
    wanted = [key for key in ("schedule", "microbatches") if key in values]
    is_pipeline = asked.problem.objective == "pipeline_bottleneck"
    if wanted and not asked.is_time and asked.source.weights is None:
        raise InputError(
            f"{wanted[0]}={values[wanted[0]]} has no effect: weights are no times; write weight=time"
        )
    if not wanted and not (is_pipeline and is_stored and len(set(best.labels)) > 1):
        return {}, ""
    return _simulated(arguments, asked, best)


def _simulated(arguments: Arguments, asked: Asked, best: Partition) -> tuple[dict[str, Any], str]:
    import io

    from dse.answers.timelines import write_timeline
    from dse.partition.files.output import bars_of
    from dse.partition.graphs.steps import closed_form_ns, simulate_step, stage_graph

    values, problem = arguments.values, asked.problem
    schedule = values.get("schedule", "1f1b")
    micro_batches = whole(values, "microbatches", 8, least=1, most=MOST)
    stages = stage_graph(problem.graph, best.labels, problem.devices.speeds, asked.source.backward)
    network = asked.system or problem.devices
    recording = simulate_step(stages, schedule, micro_batches, network)
    text = io.StringIO()
    about = {"graph": asked.source.name, "schedule": schedule, "micro-batches": str(micro_batches)}
    write_timeline(recording, text, None, about)
    devices = range(problem.devices.count) if asked.system else stages.device_of
    bars = [[devices[rank], bars] for rank, bars in bars_of(recording)]
    ends = [metrics.finish_ns for metrics in recording.outcome.classes if metrics is not None]
    return {
        "schedule": schedule,
        "micro_batches": micro_batches,
        "step_ns": max(ends),
        "closed_form_ns": closed_form_ns(stages, micro_batches),
        "backward": stages.backward,
        "bars": bars,
    }, text.getvalue()


def _predicted(layers: Layers, best: Partition) -> tuple[dict[str, Any], str]:
    import io

    from dse.answers.timelines.pipeline import write_operations

    step, text = layers.step(best.labels), io.StringIO()
    operations = layers.operations(best.labels)
    about = {"graph": layers.model.name, "schedule": step["schedule"]}
    write_operations(operations, layers.plan.pp, text, about=about)
    bars: list[list[Any]] = [[stage, []] for stage in range(layers.plan.pp)]
    for one in operations:
        name = one.kind if one.micro_batch is None else f"{one.kind} {one.micro_batch}"
        bars[one.stage][1].append([round(1e9 * one.start_s), round(1e9 * one.end_s), name])
    return {**step, "bars": bars}, text.getvalue()


def _step_text(step: dict[str, Any]) -> str:
    from dse.base.units import duration_range, format_duration_ns

    made = " by the engine"
    if "range_s" in step:
        ends = [1e9 * end for end in step["range_s"] or ()]
        made = f"{f' (80 %: {duration_range(*ends)})' if ends else ''}, predicted (fidelity=realistic)"
    return (
        f"a step with {step['schedule']} and {step['micro_batches']} micro-batches takes "
        f"{format_duration_ns(step['step_ns'])}{made}; (m - 1) max + sum, without messages, is "
        f"{format_duration_ns(step['closed_form_ns'])}; backward takes {step['backward']:.3g} times forward"
    )


def _print_json(found: list[dict[str, Any]], step: dict[str, Any]) -> None:
    import json

    if step:
        found[0]["step"] = {key: value for key, value in step.items() if key != "bars"}
    print(
        json.dumps(
            found[0] if len(found) == 1 else found, indent=None if len(found[0]["labels"]) > 100 else 2
        )
    )


def _print_csv(answer: GraphPartition) -> None:
    from dataclasses import asdict

    from dse.base.files import csv_text

    lines = [asdict(row) for row in answer.devices]
    print(csv_text(list(lines[0]), [list(line.values()) for line in lines]), end="")
