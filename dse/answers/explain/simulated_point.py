"""A simulated point as plain data and as text: its headline, and a block per class of ranks."""

from __future__ import annotations

import dataclasses
from typing import Any

from dse.answers.conventions import caution_lines
from dse.answers.fidelities import fidelity_of, hints_of
from dse.base.units import format_bytes, format_count, format_duration_ns
from dse.inputs.strategies import Strategy
from dse.simulation.simulators import Outcome
from dse.simulation.workloads import Workload
from dse.studies.config import Config
from dse.studies.points import DesignPoint, doubts, model_utilization, tokens_per_s
from dse.studies.recorded.table import blocked_lines, ranges

HEADLINE = ("wall_time_ns", "slowest_rank", "peak_memory_bytes", "fullest_rank")
WORTH = ("tokens_per_s", "tokens_per_s_per_npu", "mfu_pct", "mfu_note")
MOST_BLOCKS_OF_A_KIND = 4
"""Classes of ranks with equal traces, each with a block; more of them share one, which names the slowest."""


def headline(point: DesignPoint, workload: Workload, outcome: Outcome) -> dict[str, Any]:
    """The figures that sum a point up. Every value is None where ranks never finish.

    Keys: wall_time_ns of the step and the rank that ends last, peak_memory_bytes and the rank that has it
    (None where memory is not tracked), tokens_per_s of all NPUs and of each (None where shards are cut),
    mfu_pct with a note on what it counts, or why it is None.
    """
    slowest = fullest = None
    if outcome.status == "ok":
        of_ranks = [(rank, metrics) for rank in range(outcome.rank_count) if (metrics := outcome.rank(rank))]
        slowest = max(of_ranks, key=lambda entry: entry[1].wall_time_ns)  # the lowest rank on ties
        fullest = max(of_ranks, key=lambda entry: entry[1].peak_memory_bytes or 0)
    if slowest is None or fullest is None:
        return dict.fromkeys((*HEADLINE, *WORTH))
    wall_time_ns, peak = slowest[1].wall_time_ns, fullest[1].peak_memory_bytes
    mfu = model_utilization(point, wall_time_ns, is_fractional=workload.is_fractional)
    tokens = tokens_per_s(point, wall_time_ns, is_fractional=workload.is_fractional)
    per_npu = None if tokens is None else tokens / point.scenario.system.npus
    values = (wall_time_ns, slowest[0], peak, None if peak is None else fullest[0])
    worth = (tokens, per_npu, mfu.percent, mfu.note)
    return dict(zip((*HEADLINE, *WORTH), (*values, *worth), strict=True))


def simulated_data(
    config: Config, point: DesignPoint, workload: Workload, outcome: Outcome
) -> dict[str, Any]:
    """Plain data: the point, how it ended, its headline, the metrics of each class, blocked nodes."""
    ranks: list[list[int]] = [[] for _ in outcome.classes]
    for rank, index in enumerate(outcome.class_of_rank):
        ranks[index].append(rank)
    return {
        "model": config.model.name,
        "system": config.system.name,
        "strategy": dataclasses.asdict(config.strategy),
        "fidelity": fidelity_of(point.scenario.model_spec, point.scenario.options),
        "hints": hints_of(point.scenario.model_spec, point.scenario.system_spec, point.scenario.options),
        "status": outcome.status,
        "fractional": workload.is_fractional,
        **headline(point, workload, outcome),
        **doubts(point),
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


def simulated_text(data: dict[str, Any]) -> str:
    """The same as text: the headline, then a block per class of ranks; many of one kind share a block."""
    lines = [
        f"{data['model']} on {data['system']}: {Strategy(**data['strategy']).label()}, {data['fidelity']}",
        *data["hints"],
        f"status {data['status']}" + (", fractional shards are cut" if data["fractional"] else ""),
        *_headline_lines(data),
        *caution_lines(data["impossible_split"], data["understated_comm"]),
    ]
    kinds: dict[tuple[Any, ...], list[tuple[int, dict[str, Any]]]] = {}
    for number, entry in enumerate(data["rank_classes"]):
        kind = (entry["metrics"] is None, *entry["trace"].values())
        kinds.setdefault(kind, []).append((number, entry))
    for members in kinds.values():
        if len(members) > MOST_BLOCKS_OF_A_KIND:
            lines += _kind_lines([entry for _, entry in members])
        else:
            for number, entry in members:
                lines += _class_lines(number, entry)
    if data["blocked"]:
        lines += ["", *blocked_lines(data["blocked"])]
    if data["note"]:
        lines += ["", data["note"]]
    return "\n".join(lines)


def _headline_lines(data: dict[str, Any]) -> list[str]:
    wall_time_ns, peak, mfu = data["wall_time_ns"], data["peak_memory_bytes"], data["mfu_pct"]
    if wall_time_ns is None:
        return []
    tokens, per_npu = data["tokens_per_s"], data["tokens_per_s_per_npu"]
    memory = "not tracked" if peak is None else f"{format_bytes(peak)}, of rank {data['fullest_rank']}"
    share = "left out" if mfu is None else f"{mfu:.1f} %, model FLOPs of the step / (step time x NPUs x peak)"
    return [
        "",
        f"step time    {format_duration_ns(wall_time_ns)}, rank {data['slowest_rank']} ends last",
        f"peak memory  {memory}",
        *(
            []
            if tokens is None
            else [f"tokens/s     {format_count(tokens)}, {format_count(per_npu)} per NPU"]
        ),
        f"MFU          {share}",
        f"             {data['mfu_note']}",
    ]


def _class_lines(number: int, entry: dict[str, Any]) -> list[str]:
    """A block: ranks with the same figures."""
    lines = ["", f"rank class {number}: {len(entry['ranks'])} ranks ({ranges(entry['ranks'])})"]
    if entry["metrics"] is None:
        return [*lines, "  never finishes"]
    lines += [f"  {name:<26}{_value(name, value):>24}" for name, value in entry["metrics"].items()]
    return [*lines, _trace_line(entry["trace"])]


def _kind_lines(entries: list[dict[str, Any]]) -> list[str]:
    """A block: classes of ranks that do as much, and end at different times, as on a mesh."""
    ranks = sorted(rank for entry in entries for rank in entry["ranks"])
    title = f"{len(ranks)} ranks ({ranges(ranks)}) in {len(entries)} classes that do as much"
    if entries[0]["metrics"] is None:
        return ["", title, "  never finish"]
    slowest = max(entries, key=lambda entry: entry["metrics"]["finish_ns"])
    named = f"rank {slowest['ranks'][0]}, slowest"
    lines = ["", title, f"  {'':<24}{'least':>19}{'greatest':>19}{named:>20}"]
    for name, value in slowest["metrics"].items():
        values = [entry["metrics"][name] for entry in entries]
        known = [value for value in values if value is not None]
        ends = (min(known), max(known)) if known else (None, None)
        cells = [_short(end) for end in (*ends, value)]
        lines.append(f"  {name:<24}{cells[0]:>19}{cells[1]:>19}{cells[2]:>20}")
    return [*lines, _trace_line(entries[0]["trace"])]


def _trace_line(trace: dict[str, Any]) -> str:
    return (
        f"  trace: {trace['nodes']} nodes ({trace['comp']} compute, {trace['coll']} collectives, "
        f"{trace['send']} sends, {trace['recv']} receives)"
    )


def _short(value: int | float | None) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _value(name: str, value: int | float | None) -> str:
    if value is not None and name.endswith("_bytes"):
        return f"{value} ({format_bytes(value)})"
    return _short(value)
