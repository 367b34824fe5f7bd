"""Runs of traces as tables for people: by class of ranks, by case, and a replay against what was measured."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.base.texts import printable, table
from dse.base.units import format_bytes, format_duration_ns
from dse.simulation.simulators import Outcome, RankMetrics
from dse.studies.recorded.case import REPLAYED, SIMULATED, RunRow
from dse.studies.recorded.keys import WHAT_IF_KEYS

if TYPE_CHECKING:
    from dse.simulation.recorded.replay import Replay

_CLASSES = ("ranks", "finish", "compute", "communication", "exposed", "memory")
_SIMULATED = ("step", "compute", "communication", "exposed", "memory", "slowest rank")
_REPLAYED = ("step", "against the replay", "work", "communication", "exposed", "gaps", "slowest rank")
_TRUSTED = "trusted"
_OWN = {SIMULATED: "its own", REPLAYED: "as recorded"}
_MOST_CLASSES = 24
_MOST_RANKS = 16
_MOST_RANGES = 8
_SHOWN_DIGITS = 8


def classes_text(outcome: Outcome) -> str:
    """Return a line for each class of ranks, the slowest of many; those that never finish have no figures."""
    members: list[list[int]] = [[] for _ in outcome.classes]
    for rank, index in enumerate(outcome.class_of_rank):
        members[index].append(rank)
    order = range(len(members))
    if len(members) > _MOST_CLASSES:
        slowest = sorted(order, key=lambda index: -_finish_ns(outcome.classes[index]))[:_MOST_CLASSES]
        order = sorted(slowest)  # type: ignore[assignment]
    lines = [(ranges(members[index]), *_figures(outcome.classes[index])) for index in order]
    text = "\n".join(table(_CLASSES, lines))
    left_out = len(members) - len(lines)
    return f"{text}\n... and {left_out} faster classes of ranks" if left_out else text


def _finish_ns(metrics: RankMetrics | None) -> float:
    return float("inf") if metrics is None else metrics.finish_ns


def _figures(metrics: RankMetrics | None) -> tuple[str, ...]:
    if metrics is None:
        return "never", "", "", "", ""
    times = (
        metrics.finish_ns,
        metrics.gpu_time_ns + metrics.cpu_time_ns,
        metrics.comm_time_ns,
        metrics.exposed_comm_ns,
    )
    return (*map(format_duration_ns, times), _memory(metrics.peak_memory_bytes))


def rows_text(rows: Sequence[RunRow]) -> str:
    """Return a line for each case: the keys that differ, and its figures."""
    labels = labels_of(rows)
    names = list(dict.fromkeys(name for label in labels for name in label))
    is_replayed = any(row.kind == REPLAYED for row in rows)
    is_doubted = any(row.trusted is False for row in rows)
    header = (*names, *(_REPLAYED if is_replayed else _SIMULATED), *([_TRUSTED] if is_doubted else []))
    lines = [
        (
            *(printable(label.get(name, "")) for name in names),
            *_cells(row, is_replayed),
            *(["" if row.trusted is None else "yes" if row.trusted else "no"] if is_doubted else []),
        )
        for label, row in zip(labels, rows, strict=True)
    ]
    return "\n".join(table(header, lines))


def labels_of(rows: Sequence[RunRow]) -> list[dict[str, str]]:
    """Return what tells the cases apart: their system, keys of what-ifs, and other keys that differ.

    Where that is not enough, the keys of their rows do.
    """
    found: list[dict[str, str]] = []
    for row in rows:
        simulator = {f"simulator.{name}": value for name, value in json.loads(row.simulator).items()}
        found.append(
            {"traces": row.traces, "system": row.system or _OWN[row.kind], **simulator, **asked_of(row)}
        )
    if len({tuple(label.items()) for label in found}) < len({row.key for row in rows}):
        found = [{**label, "key": row.key[:_SHOWN_DIGITS]} for label, row in zip(found, rows, strict=True)]
    kept = [
        name
        for name in dict.fromkeys(name for label in found for name in label)
        if name in ("system", *WHAT_IF_KEYS) or len({label.get(name) for label in found}) > 1
    ]
    return [{name: label.get(name, "-") for name in kept} for label in found]


def title_of(row: RunRow) -> str:
    """Return the system and the what-if of a case in a line."""
    asked = [f"{key}={value}" for key, value in asked_of(row).items()]
    return " ".join([row.system or _OWN[row.kind], *asked])


def asked_of(row: RunRow) -> Mapping[str, Any]:
    """Return the keys of the what-if of a row."""
    asked: dict[str, Any] = json.loads(row.asked)
    return asked


def _cells(row: RunRow, is_replayed: bool) -> tuple[str, ...]:
    if row.wall_time_ns is None:
        return (row.status, *[""] * (len(_REPLAYED if is_replayed else _SIMULATED) - 1))
    wall = format_duration_ns(row.wall_time_ns)
    times = (row.compute_time_ns, row.comm_time_ns, row.exposed_comm_ns)
    parts = [format_duration_ns(time or 0) for time in times]
    slowest = str(row.slowest_rank)
    if not is_replayed:
        return (wall, *parts, _memory(row.peak_memory_bytes), slowest)
    return (wall, _change(row), *parts, format_duration_ns(row.gap_time_ns or 0), slowest)


def _change(row: RunRow) -> str:
    if not row.replayed_ns or row.wall_time_ns is None:
        return "-"
    share = 100 * (row.wall_time_ns / row.replayed_ns - 1)
    return "as it was" if row.wall_time_ns == row.replayed_ns else f"{share:+.1f} %"


def replay_text(replay: Replay) -> str:
    """Return a line for each rank: its step as measured and played again; of many ranks the worst ones."""
    step = replay.step
    if not step.measured_ns.any():
        return "measured: unknown, the traces do not say how long the step took"
    order = sorted(range(len(step.ranks)), key=lambda index: -abs(float(replay.errors[index])))
    shown = sorted(order[:_MOST_RANKS])
    lines = [
        (
            str(step.ranks[index]),
            format_duration_ns(int(step.measured_ns[index])),
            format_duration_ns(int(replay.rank_end_ns[index])),
            f"{100 * float(replay.errors[index]):+.1f} %",
        )
        for index in shown
    ]
    text = "\n".join(table(("rank", "measured", "replayed", "error"), lines))
    left_out = len(order) - len(shown)
    return f"{text}\n... and {left_out} ranks with smaller errors" if left_out else text


def blocked_lines(blocked: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what holds the ranks of a deadlock, nodes of one kind and cause as one entry with an example."""
    lines = ["what holds the others:"]
    causes = Counter((node["kind"], node["cause"]) for node in blocked)
    for node in blocked:
        count = causes.pop((node["kind"], node["cause"]), 0)
        if not count:
            continue
        peers = f", waits for rank {', '.join(map(str, node['peers']))}" if node["peers"] else ""
        group = f", group {node['communicator']}" if node["communicator"] else ""
        lines.append(
            f"  {count} x {node['kind']}: {node['cause']}\n"
            f"      for example rank {node['rank']}, node {node['node_id']} {node['name']}{group}{peers}"
        )
    return lines


def ranges(ranks: Sequence[int]) -> str:
    """Return ascending ranks such as "0-7, 16-23", at most a few ranges."""
    found: list[list[int]] = []
    for rank in ranks:
        if found and rank == found[-1][1] + 1:
            found[-1][1] = rank
        else:
            found.append([rank, rank])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in found]
    return ", ".join(shown[:_MOST_RANGES]) + (", ..." if len(shown) > _MOST_RANGES else "")


def _memory(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else format_bytes(size_bytes)
