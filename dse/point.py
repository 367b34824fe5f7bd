"""`python -m dse.point system=… model=… strategy.dp=…`: every metric of one design point, and its files."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.cli import config_from_arguments, run
from dse.config import Config
from dse.errors import InputError
from dse.points import point_of, run_point
from dse.simulators import Outcome
from dse.simulators.astrasim import write_inputs
from dse.units import format_bytes
from dse.workloads import Workload

USAGE = """\
usage: python -m dse.point [KEY=VALUE ...]

Simulate one strategy and print every metric of every class of ranks (ranks with the same trace and figures).

  system=dgx16 model=llama70b model.num_layers=16
  strategy.dp=4 strategy.tp=4 strategy.sp=1 strategy.pp=1
  strategy.weight_sharded=true strategy.activation_recompute=true
  format=json           JSON instead of a table
  export=DIR            write .et traces, groups and configuration files that ASTRA-sim accepts
  simulator=astrasim simulator.binary=PATH    workload=stage workload.checkout=PATH
                        your own ASTRA-sim, your own STAGE (docs/backends.md)

options: -h, --help   this text        --cfg   print the configuration and stop
exit code: 0 all ranks finish, 1 deadlock, 2 wrong input or infeasible strategy"""


def export(config: Config, workload: Workload, folder: Path) -> list[str]:
    """Write everything that a stock ASTRA-sim needs; return its command-line options.

    Raises:
        InputError: see `write_inputs`, or ASTRA-sim would ignore the groups file in the folder.
    """
    if "empty" in str(folder):
        raise InputError(
            f"export is '{folder}': ASTRA-sim ignores a groups file whose path contains 'empty'; "
            "choose another folder"
        )
    return write_inputs(workload, config.system, folder)


def to_json(config: Config, workload: Workload, outcome: Outcome) -> dict[str, Any]:
    """Plain data: the point, how it ended, the metrics of each class with its ranks, blocked nodes."""
    ranks: list[list[int]] = [[] for _ in outcome.classes]
    for rank, index in enumerate(outcome.class_of_rank):
        ranks[index].append(rank)
    return {
        "model": config.model.name,
        "system": config.system.name,
        "strategy": dataclasses.asdict(config.strategy),
        "status": outcome.status,
        "fractional": workload.is_fractional,
        "rank_classes": [
            {
                "ranks": members,
                "metrics": None if metrics is None else dataclasses.asdict(metrics),
                "trace": dataclasses.asdict(workload.counts(members[0])),
            }
            for members, metrics in zip(ranks, outcome.classes, strict=True)
        ],
        "blocked": [dataclasses.asdict(node) for node in outcome.blocked],
        "note": outcome.note,
    }


def render(data: dict[str, Any]) -> str:
    """The same as text: a column a rank class, a line a metric."""
    strategy = data["strategy"]
    degrees = " ".join(f"{axis}={strategy[axis]}" for axis in ("dp", "tp", "sp", "pp"))
    switches = [name for name in ("weight_sharded", "activation_recompute") if strategy[name]]
    lines = [
        f"{data['model']} on {data['system']}: {' '.join([degrees, *switches])}",
        f"status {data['status']}" + (", fractional shards are cut" if data["fractional"] else ""),
    ]
    for number, entry in enumerate(data["rank_classes"]):
        lines += ["", f"rank class {number}: {len(entry['ranks'])} ranks ({_ranges(entry['ranks'])})"]
        if entry["metrics"] is None:
            lines.append("  never finishes")
            continue
        lines += [f"  {name:<26}{_value(name, value):>24}" for name, value in entry["metrics"].items()]
        trace = entry["trace"]
        lines.append(
            f"  trace: {trace['nodes']} nodes ({trace['comp']} compute, {trace['coll']} collectives, "
            f"{trace['send']} sends, {trace['recv']} receives)"
        )
    if data["blocked"]:
        lines += ["", "what holds the others:"]
        causes = Counter((node["kind"], node["cause"]) for node in data["blocked"])
        for node in data["blocked"]:
            count = causes.pop((node["kind"], node["cause"]), 0)
            if not count:
                continue
            peers = f", waits for rank {', '.join(map(str, node['peers']))}" if node["peers"] else ""
            group = f", group {node['communicator']}" if node["communicator"] else ""
            lines.append(
                f"  {count} x {node['kind']}: {node['cause']}\n"
                f"      for example rank {node['rank']}, node {node['node_id']} {node['name']}{group}{peers}"
            )
    if data["note"]:
        lines += ["", data["note"]]
    return "\n".join(lines)


def _value(name: str, value: int | float | None) -> str:
    if value is None:
        return "-"
    if name.endswith("_bytes"):
        return f"{value} ({format_bytes(value)})"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _ranges(ranks: list[int]) -> str:
    """Such as "0-7, 16-23", at most a few ranges."""
    ranges: list[list[int]] = []
    for rank in ranks:
        if ranges and rank == ranges[-1][1] + 1:
            ranges[-1][1] = rank
        else:
            ranges.append([rank, rank])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")


def main(argv: Sequence[str]) -> int:
    """Print the metrics; return 0, or 1 for a deadlock.

    Raises:
        InputError: a wrong key or value, an infeasible strategy, an export folder that cannot be written.
        SimulationError, SimulationTimeout: the simulator cannot run this point, or not in time.
    """
    config = config_from_arguments(argv, USAGE)
    if config is None:
        return 0
    point = point_of(config, config.strategy)
    workload, outcome = run_point(point)
    options = export(config, workload, config.export) if config.export is not None else []
    data = to_json(config, workload, outcome)
    if config.output_format == "json":
        print(json.dumps({**data, "export_options": options} if options else data, indent=2))
    else:
        print(render(data))
        if options:
            print(
                f"\nexported to {config.export}; run it with\n  " + " \\\n  ".join(map(shlex.quote, options))
            )
    return 0 if outcome.status == "ok" else 1


if __name__ == "__main__":
    run(main)
