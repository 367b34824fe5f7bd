"""`dse partition graph=FILE devices=NAME`: the device of each node of a model, and how good that is."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import CommandLine, Option
from dse.base.settings.values import entries, file, listed, whole
from dse.commands.cli import print_notes, read_arguments
from dse.partition.problem.arguments import KEYS, MOST, Arguments, question_of

if TYPE_CHECKING:
    from dse.inputs.models import ModelSpec
    from dse.inputs.systems import SystemSpec
    from dse.partition.files.results import DeviceRow
    from dse.partition.graphs.sources.source import Rates
    from dse.partition.problem.devices import Devices
    from dse.partition.problem.problem import Partition
    from dse.partition.problem.settings import Asked
    from dse.partition.search.partitioner import Limits, Partitioner

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
    groups=("model", "system"),
    choices={"format": ("table", "json", "csv")},
    example="graph=FILE.json",
    synopsis=("graph=FILE|model=NAME [devices=NAME|FILE.csv|N] [KEY=VALUE ...] [-o DIR]",),
)


def main(argv: Sequence[str]) -> int:
    """Search, print the answer, write the folder; return the exit code.

    Raises:
        InputError: a wrong key, value or file, or constraints that no partition keeps.
    """
    arguments = read_arguments(COMMAND, argv)
    if arguments is None:
        return 0
    return _partition(question_of(arguments.values, arguments.overrides), file(arguments.options, "--output"))


def _partition(arguments: Arguments, folder: Path | None) -> int:
    from dse.base.files import check_folder
    from dse.partition.files.results import device_rows
    from dse.partition.problem.settings import asked_problem
    from dse.partition.search.partitioners import PARTITIONERS

    form = arguments.values.get("format", "table")
    if folder is not None:
        check_folder(folder, "-o")
    asked = asked_problem(arguments, _composed())
    found = _found(arguments, asked)
    best = found[0]
    rows = device_rows(asked.problem, best.labels, is_time=asked.is_time)
    step, trace = _step(arguments, asked, best, is_stored=folder is not None)
    names = listed("partitioner", arguments.values.get("partitioner", "auto"))
    notes = [*PARTITIONERS.notes(*names), *asked.notes, *best.notes][:_SHOWN_NOTES]
    try:
        _print(form, asked, found, rows, step)
    finally:  # also for who stops reading at the first line
        if folder is not None:
            from dse.partition.files.output import write_folder

            write_folder(folder, asked, found, rows, step, trace)
            notes.append(f"stored in {folder}")
    print_notes(notes)
    return 0


def _print(form: str, asked: Asked, found: Sequence[Partition], rows: Sequence[DeviceRow], step: Any) -> None:
    from dse.partition.files.results import comparison_text, text_of, to_json

    if form == "json":
        _print_json([to_json(asked.problem, one) for one in found], step)
    elif form == "csv":
        _print_csv(rows)
    else:
        print(text_of(asked.problem, found[0], rows))
        if len(found) > 1:
            print(f"\n{comparison_text(asked.problem, found)}")
        if step:
            print(f"\n{_step_text(step)}")
    sys.stdout.flush()


def _composed() -> Any:
    from dse.partition.problem.settings import Composed
    from dse.studies.config import compose_config

    def model(overrides: Sequence[str]) -> ModelSpec:
        return compose_config(overrides).model

    def system(overrides: Sequence[str]) -> SystemSpec:
        return compose_config(overrides).system

    def cluster(name: str) -> tuple[Devices, Rates] | None:
        from dse.partition.graphs.sources.clusters import ClusterHost, cluster_devices
        from dse.planner.problem.named_clusters import cluster_names, named_cluster

        if name not in cluster_names():
            return None
        _, found, accelerators = named_cluster(name)
        hosts = [
            ClusterHost(
                host.address,
                accelerators[host.type],
                host.gpus,
                host.intra_gbps,
                host.inter_gbps,
                host.island,
            )
            for host in found.hosts
        ]
        return cluster_devices(name, hosts, found.between_islands_gbps)

    return Composed(model, system, cluster)


def _found(arguments: Arguments, asked: Asked) -> list[Partition]:
    """Search with every partitioner, and evaluate stored partitions; the least cost comes first."""
    from dse.base.errors import InputError
    from dse.partition.files.output import read_labels
    from dse.partition.objectives import evaluate
    from dse.partition.problem.arguments import measure
    from dse.partition.problem.problem import Partition
    from dse.partition.problem.validation import validate
    from dse.partition.search.partitioner import Limits
    from dse.partition.search.partitioners import partitioner_named

    values = arguments.values
    limits = Limits(
        measure(values, "time_limit", None, above=True),
        whole(values, "seed", 0, most=MOST),
        whole(values, "restarts", None, least=1, most=MOST),
    )
    names = listed("partitioner", values.get("partitioner", "auto"))
    partitioners = [partitioner_named(name) for name in names]
    if "restarts" in values and not any(partitioner.starts_again for partitioner in partitioners):
        raise InputError(f"restarts={values['restarts']} has no effect on partitioner={','.join(names)}")
    validate(asked.problem)
    found = [partitioner.partition(asked.problem, _own(limits, partitioner)) for partitioner in partitioners]
    for name in entries("compare", values["compare"]) if "compare" in values else ():
        start = time.perf_counter()
        labels = read_labels(Path(name), asked.problem.graph.nodes)
        cost = evaluate(asked.problem, labels)
        found.append(Partition(labels, cost, None, False, name, time.perf_counter() - start))
    return sorted(found, key=lambda one: one.cost)


def _own(limits: Limits, partitioner: Partitioner) -> Limits:
    if limits.time_limit_s is not None or partitioner.default_time_limit_s is None:
        return limits
    return replace(limits, time_limit_s=partitioner.default_time_limit_s)


def _step(
    arguments: Arguments, asked: Asked, best: Partition, *, is_stored: bool
) -> tuple[dict[str, Any], str]:
    """Simulate a pipelined step where one is asked for, or can be shown; its data and its timeline."""
    from dse.base.errors import InputError

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


def _step_text(step: dict[str, Any]) -> str:
    from dse.base.units import format_duration_ns

    return (
        f"a step with {step['schedule']} and {step['micro_batches']} micro-batches takes "
        f"{format_duration_ns(step['step_ns'])} by the engine; (m - 1) max + sum, without messages, is "
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


def _print_csv(rows: Sequence[DeviceRow]) -> None:
    from dataclasses import asdict

    from dse.base.files import csv_text

    lines = [asdict(row) for row in rows]
    print(csv_text(list(lines[0]), [list(line.values()) for line in lines]), end="")
