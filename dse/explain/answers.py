"""What `python -m dse.explain` answers: a point, what another one does otherwise, and what changes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dse.errors import InputError
from dse.explain.compare import compare
from dse.explain.explanation import Explanation, explain
from dse.explain.render import render, render_comparison
from dse.points import DesignPoint, run_point
from dse.results import Group, StudyRow, StudyStore, groups, select
from dse.simulators import NativeSimulator
from dse.units import format_bytes, format_duration_ns
from dse.whatif import (
    Candidates,
    Switch,
    binding_among,
    cap_switches_among,
    parameters_of,
    point_of_row,
    row_of_key,
    strategy_of_row,
    switch_among,
)


@dataclass(frozen=True)
class Subject:
    """What is explained: a point, the one that it is compared with, and the rows that compete."""

    title: str
    row: StudyRow
    other: StudyRow | None
    group: Group
    memory_cap_bytes: int | None
    note: str = ""


def explanation_of(point: DesignPoint) -> Explanation:
    """Simulate a point again, with a recording of the ranks that decide, and explain it.

    Raises:
        InputError: its ranks deadlock.
    """
    workload, outcome = run_point(point)
    label = point.strategy.label()
    if outcome.status != "ok":
        raise InputError(f"{label} cannot be explained: {outcome.reason}")
    recording = NativeSimulator().record(
        workload, point.scenario.system, strategy=point.strategy, decisive_only=True
    )
    return explain(recording, label)


def subjects(store: StudyStore, key: str | None, versus: str | None, cap: int | None) -> list[Subject]:
    """Return what to explain: the point of a key, or the best of every model and system.

    Raises:
        InputError: no such point, or none is ok.
    """
    table = store.read_table()
    other = None if versus is None else row_of_key(store, versus)
    if key is not None:
        row = row_of_key(store, key)
        group = next(group for group in groups(table) if row.key in group.table["key"].to_pylist())
        best = select(group.table, memory_cap_bytes=cap)
        return [Subject(group.title, row, other or best.capped_optimum or best.optimum, group, cap)]
    found = []
    for group in groups(table):
        selection = select(group.table, memory_cap_bytes=cap)
        capped = selection.capped_optimum is not None
        first = selection.capped_optimum or selection.optimum
        runner_up = selection.capped_runner_up if capped else selection.runner_up
        if first is not None:
            note = "" if capped or cap is None else _nothing_fits(cap)
            found.append(
                Subject(group.title, first, other or runner_up, group, cap if capped else None, note)
            )
    if not found:
        raise InputError(f"no point of {store.folder} is ok, so there is nothing to explain")
    return found


def _nothing_fits(cap: int) -> str:
    return f"nothing fits under {format_bytes(cap)}, or memory is not tracked: this is the best without a cap"


def answer(subject: Subject, *, items: int, with_switches: bool) -> tuple[str, dict[str, Any]]:
    """Return the explanation of a subject as text and as plain data.

    Raises:
        InputError: a point that cannot be evaluated again.
    """
    first = explanation_of(point_of_row(subject.row))
    texts = [subject.title, render(first, items=items)]
    if subject.note:
        texts.insert(1, subject.note)
    data: dict[str, Any] = {"title": subject.title, "key": subject.row.key, **first.to_json()}
    if subject.other is not None and subject.other.key != subject.row.key:
        comparison = compare(first, explanation_of(point_of_row(subject.other)))
        texts.append(render_comparison(comparison))
        data["versus"] = {"key": subject.other.key, **comparison.to_json()}
    candidates = Candidates(subject.group.table, subject.row, subject.memory_cap_bytes)
    if strategy_of_row(candidates.winner) == strategy_of_row(subject.row):
        binding = binding_among(candidates)
        texts.append(f"what binds: {binding.sentence()}")
        data["binding"] = binding.to_json()
        if with_switches:
            found = switches_of(candidates)
            heading = "the smallest changes of one input at which another strategy wins:"
            texts.append("\n".join([heading, *(_line(switch) for switch in found)]))
            data["switches"] = [switch.to_json() for switch in found]
    return "\n\n".join(texts), data


def switches_of(candidates: Candidates) -> list[Switch]:
    """Return for every input the nearest value at which another strategy wins, the smallest change first."""
    found = [switch_among(candidates, parameter) for parameter in parameters_of(candidates.scenario.system)]
    if candidates.winner.peak_memory_bytes is not None:
        found += cap_switches_among(candidates)
    return sorted((switch for switch in found if switch is not None), key=_size)


def _size(switch: Switch) -> float:
    factor = switch.factor
    return math.inf if factor is None else abs(math.log(factor))


def _line(switch: Switch) -> str:
    if switch.key == "memory_cap_bytes":
        change = f"memory cap {format_bytes(int(switch.first_value))}"
    else:
        change = f"{switch.key} {switch.value:g} -> {switch.first_value:.6g} (x {switch.factor:.4g})"
    if switch.strategy is None or switch.wall_time_ns is None:
        return f"  {change}: nothing fits"
    return f"  {change}: {switch.strategy.label()}, {format_duration_ns(switch.wall_time_ns)}"
