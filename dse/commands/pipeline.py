"""`dse pipeline run MODEL --partition FILE`: train a partitioned model, and measure links and operators."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.base.errors import InputError
from dse.commands.cli import ArgumentParser, called_as, print_json, print_notes

if TYPE_CHECKING:
    from argparse import Namespace

_MODEL = "two_branches, transformer, mixture, or FILE.py:FUNCTION that returns (module, sample, loss)"
_MOST_PROCESSES = 64


def parser() -> ArgumentParser:
    """The command line."""
    parser = ArgumentParser(
        prog=called_as("pipeline"),
        description="Train a partitioned PyTorch model as a pipeline, one process per device; compare losses "
        "and step times with one process, with FSDP and with the prediction; measure links between processes "
        "and times of operators. Needs the extra torch (docs/partition.md).",
    )
    parsers = parser.add_subparsers(dest="action", required=True, metavar="run | probe | profile")
    _add_run(parsers.add_parser("run", help="train, and compare"))
    probe = parsers.add_parser("probe", help="measure links between processes")
    probe.add_argument("--processes", type=int, default=2, metavar="N", help="how many (default 2)")
    probe.add_argument("--bytes", type=int, default=1 << 22, help="of a large message (default 4194304)")
    probe.add_argument("--repetitions", type=int, default=20, help="after 3 to warm up (default 20)")
    probe.add_argument("-o", "--output", type=Path, metavar="FILE", help="the CSV topology (default: stdout)")
    profile = parsers.add_parser("profile", help="measure operators")
    profile.add_argument("model", help=_MODEL)
    profile.add_argument("--micro-batch", type=int, default=8, metavar="N", help="samples (default 8)")
    profile.add_argument("--repetitions", type=int, default=20, help="after 3 to warm up (default 20)")
    profile.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a JSON graph")
    return parser


def _add_run(run_parser: ArgumentParser) -> None:
    from dse.partition.run.plans import SCHEDULES

    add = run_parser.add_argument
    add("model", help=_MODEL)
    add("--partition", type=Path, required=True, metavar="FILE", help="partition.json of dse partition -o")
    add("--schedule", choices=tuple(SCHEDULES), default="1f1b", help="default 1f1b")
    add("--processes", type=int, metavar="N", help="default: one a device; interleaved: fewer")
    add("--microbatches", type=int, default=8, metavar="N", help="of a step (default 8)")
    add("--micro-batch", type=int, default=8, metavar="N", help="samples of a micro-batch (default 8)")
    add("--steps", type=int, default=10, metavar="N", help="default 10")
    add("--seed", type=int, default=0, metavar="N", help="of parameters and data (default 0)")
    add("--topology", type=Path, metavar="FILE", help="links for the prediction (default: they are measured)")
    add("--no-prediction", action="store_true", help="do not measure operators and links")
    add("--no-baseline", action="store_true", help="do not train with FSDP")
    add("--json", action="store_true", help="print JSON instead of text")


def main(argv: Sequence[str]) -> int:
    """Do what the first argument says; return 0, or 1 if losses are not those of one process.

    Raises:
        InputError: a wrong option, no torch, or a partition that does not fit.
        ProcessDied: a process ended early.
    """
    arguments = parser().parse_args(argv)
    from dse.partition.graphs.sources.torch_models import require_torch

    require_torch(f"dse pipeline {arguments.action}")
    if "RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("RANK is set: dse pipeline starts its own processes; call it without torchrun")
    return {"run": _run, "probe": _probe, "profile": _profile}[arguments.action](arguments)


def _run(arguments: Namespace) -> int:
    from dse.partition.problem.settings import csv_devices
    from dse.partition.run.comparison import compare
    from dse.partition.run.plans import Plan
    from dse.partition.run.prediction import threads_of
    from dse.partition.run.stages import read_placement

    for name in ("microbatches", "micro_batch", "steps"):
        _check(f"--{name.replace('_', '-')}", getattr(arguments, name), 1, 10**6)
    if arguments.topology is not None and arguments.no_prediction:
        raise InputError("--topology has no effect with --no-prediction; leave one of them out")
    placement = read_placement(arguments.partition)
    stages = len(set(placement.values()))
    processes = stages if arguments.processes is None else arguments.processes
    _check("--processes", processes, 1, _MOST_PROCESSES)
    if arguments.schedule == "interleaved":
        if stages % processes or stages == processes:
            raise InputError(
                f"--processes is {processes}; interleaved goes round them: the {stages} devices "
                "of the partition must be 2 or more times as many, such as --processes "
                f"{max(1, stages // 2)}"
            )
    elif processes != stages:
        raise InputError(
            f"--processes is {processes}, but the partition has {stages} devices; interleaved takes fewer"
        )
    plan = Plan(
        arguments.model,
        placement,
        arguments.schedule,
        arguments.microbatches,
        arguments.micro_batch,
        arguments.steps,
        arguments.seed,
        threads=threads_of(processes),
    )
    links = None if arguments.topology is None else csv_devices(arguments.topology, None)
    found = compare(
        plan, processes, links, predict=not arguments.no_prediction, baseline=not arguments.no_baseline
    )
    if arguments.json:
        print_json([found.to_json()])
    else:
        print(found.text())
    print_notes(found.notes)
    return 0 if found.is_equal else 1


def _probe(arguments: Namespace) -> int:
    from dse.base.files import check_output, write_output
    from dse.partition.run.prediction import measured_links
    from dse.partition.run.probe import topology_csv

    _check("--processes", arguments.processes, 2, _MOST_PROCESSES)
    _check("--bytes", arguments.bytes, 1024, 1 << 32)
    _check("--repetitions", arguments.repetitions, 1, 10**6)
    if arguments.output is not None:
        check_output(arguments.output, "--output")
    links = measured_links(arguments.processes, arguments.bytes, arguments.repetitions)
    text = topology_csv(links, arguments.processes)
    if arguments.output is None:
        print(text, end="")
    else:
        write_output(arguments.output, text.encode(), "--output")
        print(f"{arguments.output}: {len(links)} links between {arguments.processes} processes")
    return 0


def _profile(arguments: Namespace) -> int:
    from dataclasses import replace

    from dse.base.files import check_output, write_output
    from dse.base.units import format_duration_ns
    from dse.partition.graphs.sources.json_graph import json_text
    from dse.partition.graphs.sources.torch_graph import read_torch
    from dse.partition.run.prediction import measured_profile

    _check("--micro-batch", arguments.micro_batch, 1, 10**6)
    _check("--repetitions", arguments.repetitions, 1, 10**6)
    check_output(arguments.output, "--output")
    found = measured_profile(arguments.model, arguments.micro_batch, arguments.repetitions, threads=1)
    source = replace(read_torch(arguments.model, arguments.micro_batch), backward=found.backward)
    weights = tuple(found.operator_ns[operator.name] for operator in source.operators)
    write_output(arguments.output, json_text(source, weights).encode(), "--output")
    print(
        f"{arguments.output}: {len(weights)} operators, {format_duration_ns(sum(weights))} forward, backward "
        f"{found.backward:.2f} times as long, optimizer {format_duration_ns(found.optimizer_ns)}"
    )
    return 0


def _check(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{option} is {value}; it must be {least} to {most}")
