"""`dse pipeline run MODEL partition=FILE`: train a partitioned model, and measure links and operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.settings import check_choice
from dse.base.settings.values import Values, file, whole
from dse.base.units import format_duration_ns
from dse.commands.cli import JSON, print_json, print_notes, read_arguments

if TYPE_CHECKING:
    from dse.partition.run.plans import Plan

_MODEL = "two_branches, transformer, mixture, or FILE.py:FUNCTION that returns (module, sample, loss)"

_MODELS = {"MODEL": _MODEL}
_REPETITIONS = {"repetitions": "after 3 to warm up (default 20)"}
ACTIONS = {
    "run": CommandLine(
        "pipeline run",
        "Train a partitioned model as a pipeline, and compare.",
        words=_MODELS,
        keys={
            "keys": {
                "partition": "partition.json of dse partition -o",
                "schedule": "1f1b (default), gpipe or interleaved",
                "processes": "default: one a device and replica; interleaved: fewer",
                "replicas": "of the pipeline, or of each stage, such as [2,1], which share micro-batches "
                "(default: those of the partition)",
                "microbatches": "of a step (default 8)",
                "micro_batch": "samples of a micro-batch (default 8)",
                "steps": "default 10",
                "seed": "of parameters and data (default 0)",
                "topology": "a CSV file of links for the prediction (default: they are measured)",
            }
        },
        options={
            "--no-prediction": Option("do not measure operators and links"),
            "--no-baseline": Option("do not train with FSDP"),
            **JSON,
        },
        example="partition=FILE",
    ),
    "probe": CommandLine(
        "pipeline probe",
        "Measure links between processes.",
        keys={
            "keys": {
                "processes": "how many (default 2)",
                "bytes": "of a large message (default 4194304)",
                **_REPETITIONS,
            }
        },
        options={"--output": Option("the CSV topology (default: stdout)", "FILE", "-o")},
    ),
    "profile": CommandLine(
        "pipeline profile",
        "Measure the operators of a model.",
        words=_MODELS,
        keys={"keys": {"micro_batch": "samples (default 8)", **_REPETITIONS}},
        options={"--output": Option("a JSON graph", "FILE", "-o")},
    ),
}
COMMAND = CommandLine(
    "pipeline",
    "Train a partitioned PyTorch model as a pipeline, one process per device; compare losses and step times "
    "with one process, with FSDP and with the prediction; measure links between processes and times of "
    "operators. Needs the extra torch (docs/partition.md).",
    words={"ACTION": "run, probe or profile; dse pipeline ACTION --help explains one"},
    synopsis=("ACTION [MODEL] [KEY=VALUE ...] [OPTION ...]",),
)


def main(argv: Sequence[str]) -> int:
    """Do what the first argument says; return 0, or 1 if losses are not those of one process.

    Raises:
        InputError: a wrong option, no torch, or a partition that does not fit.
        ProcessDied: a process ended early.
    """
    action, rest = (argv[0], argv[1:]) if argv else ("", [])
    if action not in ACTIONS:
        if read_arguments(COMMAND, argv) is not None:
            check_choice("ACTION", action, tuple(ACTIONS))
        return 0
    arguments = read_arguments(ACTIONS[action], rest)
    if arguments is None:
        return 0
    from dse.partition.graphs.sources.torch_models import require_torch
    from dse.partition.run.processes import launched_rank

    require_torch(f"dse pipeline {action}")
    if action == "profile" and launched_rank() is not None:
        raise InputError("dse pipeline profile measures in one process; call it without torchrun")
    return {"run": _run, "probe": _probe, "profile": _profile}[action](arguments)


def _run(arguments: Arguments) -> int:
    from dse.partition.problem.devices import csv_devices
    from dse.partition.run.comparison import compare
    from dse.partition.run.plans import MOST_PROCESSES, check_processes, check_replicas
    from dse.partition.run.prediction import threads_of
    from dse.partition.run.processes import launched_rank

    values, options = arguments.values, arguments.options
    plan = _plan(arguments.words[0], values, options)
    check_replicas(plan)
    processes = whole(values, "processes", sum(plan.each), least=1, most=MOST_PROCESSES)
    check_processes(plan, processes)
    links = csv_devices(Path(values["topology"]), None) if "topology" in values else None
    found = compare(
        replace(plan, threads=threads_of(processes)),
        processes,
        links,
        predict="--no-prediction" not in options,
        baseline="--no-baseline" not in options,
    )
    if launched_rank():
        return 0 if found.is_equal else 1  # the first process tells
    if "--json" in options:
        print_json([found.to_json()])
    else:
        print(found.text())
    print_notes(found.notes)
    return 0 if found.is_equal else 1


def _plan(model: str, values: Values, options: Values) -> Plan:
    """Return the plan that keys name, with replicas and a number of processes not yet checked."""
    from dse.partition.problem.replicas import replicas_from
    from dse.partition.run.plans import SCHEDULES, Plan
    from dse.partition.run.stages import read_placement

    schedule = values.get("schedule", "1f1b")
    check_choice("schedule", schedule, SCHEDULES)
    if "topology" in values and "--no-prediction" in options:
        raise InputError("topology has no effect with --no-prediction; leave one of them out")
    if "partition" not in values:
        raise InputError("partition is missing; write partition=FILE, partition.json of dse partition -o")
    micro_batches, micro_batch = _count(values, "microbatches", 8), _count(values, "micro_batch", 8)
    steps, seed = _count(values, "steps", 10), whole(values, "seed", 0, most=2**63 - 1)
    placement, replicas = read_placement(Path(values["partition"]))
    if "replicas" in values:
        replicas = replicas_from("replicas", values["replicas"])
    return Plan(model, placement, schedule, micro_batches, micro_batch, steps, seed, replicas=replicas)


def _probe(arguments: Arguments) -> int:
    from dse.base.files import check_output, write_output
    from dse.partition.run.plans import MOST_PROCESSES
    from dse.partition.run.prediction import measured_links
    from dse.partition.run.probe import topology_csv
    from dse.partition.run.processes import launched_rank

    values, output = arguments.values, file(arguments.options, "--output")
    processes = whole(values, "processes", 2, least=2, most=MOST_PROCESSES)
    size = whole(values, "bytes", 1 << 22, least=1024, most=1 << 32)
    repetitions = _count(values, "repetitions", 20)
    if output is not None:
        check_output(output, "--output")
    links = measured_links(processes, size, repetitions)
    if launched_rank():
        return 0  # the first process tells
    text = topology_csv(links, processes)
    if output is None:
        print(text, end="")
    else:
        write_output(output, text.encode(), "--output")
        print(f"{output}: {len(links)} links between {processes} processes")
    return 0


def _profile(arguments: Arguments) -> int:

    from dse.base.files import check_output, write_output
    from dse.partition.graphs.sources.json_graph import json_text
    from dse.partition.graphs.sources.torch_graph import read_torch
    from dse.partition.run.prediction import measured_profile

    (model,), output = arguments.words, file(arguments.options, "--output")
    if output is None:
        raise InputError("-o is missing; write -o FILE, the JSON graph")
    micro_batch = _count(arguments.values, "micro_batch", 8)
    repetitions = _count(arguments.values, "repetitions", 20)
    check_output(output, "--output")
    found = measured_profile(model, micro_batch, repetitions, threads=1)
    source = replace(read_torch(model, micro_batch), backward=found.backward)
    weights = tuple(found.operator_ns[operator.name] for operator in source.operators)
    write_output(output, json_text(source, weights).encode(), "--output")
    print(
        f"{output}: {len(weights)} operators, {format_duration_ns(sum(weights))} forward, backward "
        f"{found.backward:.2f} times as long, optimizer {format_duration_ns(found.optimizer_ns)}"
    )
    return 0


def _count(values: Values, key: str, default: int) -> int:
    return whole(values, key, default, least=1, most=10**6)
