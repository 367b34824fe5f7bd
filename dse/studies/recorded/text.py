"""Runs of traces for people: a headline, the replay against what was measured, and each case."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from dse.base.texts import printable
from dse.base.units import format_count
from dse.simulation.simulators import Outcome
from dse.studies.recorded.case import Case, RunRow
from dse.studies.recorded.run import assumed, simulated
from dse.studies.recorded.table import blocked_lines, classes_text, replay_text
from dse.studies.recorded.traces import Traces

_MOST_REASONS = 4


def headline(traces: Traces, wanted: Sequence[Case], rows: Sequence[RunRow]) -> str:
    """Return what was run: the traces, and the system of the first case that could be."""
    could = [pair for pair in zip(wanted, rows, strict=True) if pair[1].ranks]
    case, row = could[0] if could else (wanted[0], rows[0])
    size = f"{row.ranks} ranks, {format_count(row.nodes)} nodes" if row.ranks and row.nodes else "not run"
    if traces.is_recorded:
        step = traces.step()
        of_all = f" of {step.world_size}" if step.missing_ranks else ""
        size = f"{len(step.ranks)}{of_all} ranks, {format_count(step.node_count)} nodes"
        return printable(f"{traces.name}: a recorded step of PyTorch, {size}")
    facts = case.simulator_facts
    place = case.system_name or "the system beside them"
    return printable(f"{traces.name}: {size}, on {place}, as {facts.get('reference', facts['name'])}")


def overview(traces: Traces) -> str:
    """Return a recorded step's replay against what was measured, and why it cannot be trusted; else nothing.

    It comes before every what-if.
    """
    if not traces.is_recorded:
        return ""
    from dse.simulation.recorded.trust import doubt_of_missing_ranks, reasons_for_distrust

    baseline = traces.baseline()
    lines = ["", "the step played again, against what was measured:", replay_text(baseline)]
    notes = list(traces.step().notes)
    if not traces.step().measured_ns.any():
        lines += ["warning: no what-if below can be judged by a measured step"]
    elif not baseline.is_trusted:
        reasons = [reason for reason in reasons_for_distrust(baseline) if reason not in notes]
        lines += ["warning: the replay is off by more than 10 %, so no figure below can be trusted:"]
        lines += [f"  {printable(reason)}" for reason in reasons[:_MOST_REASONS]]
    if doubt := doubt_of_missing_ranks(traces.step()):
        lines += [f"warning: no what-if below can be trusted: {doubt}"]
    return "\n".join([*lines, *(f"note: {printable(note)}" for note in notes)])


def case_text(case: Case, row: RunRow, *, is_alone: bool, with_classes: bool) -> str:
    """Return a case: its title unless it is alone, its classes of ranks, and what holds them."""
    asked = [f"{key}={value}" for key, value in case.asked.items()]
    title = " ".join([case.place, *asked])
    lines = [] if is_alone else [f"{printable(title)}:"]
    if case.traces.is_recorded:
        held = [f"deadlock: {printable(row.reason)}"] if row.status == "deadlock" else []
        notes = [f"note: {printable(note)}" for note in assumed(case)] if row.status == "ok" else []
        return "\n".join([*lines, *held, *notes]) if held or notes or with_classes else ""
    if row.status not in ("ok", "deadlock") or not (is_alone or with_classes or row.status == "deadlock"):
        return ""
    _, outcome = simulated(case)
    return "\n".join([*lines, classes_text(outcome), *_blocked(outcome)])


def case_data(case: Case, row: RunRow) -> dict[str, Any]:
    """Return the same as plain data: the row, and the classes of ranks or the replay of each rank."""
    data: dict[str, Any] = dataclasses.asdict(row)
    if case.traces.is_recorded:
        from dse.simulation.recorded.trust import doubt_of_missing_ranks

        baseline = case.traces.baseline()
        ranks = zip(baseline.step.ranks, baseline.step.measured_ns, baseline.rank_end_ns, strict=True)
        data["replay"] = [
            {"rank": rank, "measured_ns": int(measured), "replayed_ns": int(replayed)}
            for rank, measured, replayed in ranks
        ]
        data["notes"] = list(case.traces.step().notes)
        data["assumed"] = list(assumed(case)) if row.status == "ok" else []
        data["doubt"] = "" if row.trusted else doubt_of_missing_ranks(case.traces.step())
    elif row.status in ("ok", "deadlock"):
        _, outcome = simulated(case)
        members: list[list[int]] = [[] for _ in outcome.classes]
        for rank, number in enumerate(outcome.class_of_rank):
            members[number].append(rank)
        data["rank_classes"] = [
            {"ranks": ranks, "metrics": None if metrics is None else dataclasses.asdict(metrics)}
            for ranks, metrics in zip(members, outcome.classes, strict=True)
        ]
        data["blocked"] = [dataclasses.asdict(node) for node in outcome.blocked]
    return data


def _blocked(outcome: Outcome) -> list[str]:
    if outcome.status == "ok":
        return []
    lines = blocked_lines([dataclasses.asdict(node) for node in outcome.blocked])
    return ["", f"deadlock: {outcome.reason}", *lines]
