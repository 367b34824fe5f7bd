"""The answer of `dse explain`: a point, what another one does otherwise, and what changes it."""

from __future__ import annotations

import math
from typing import Any

from dse.answers import Subject
from dse.answers.explain.breakdown import Explanation, explain, explain_prediction
from dse.answers.explain.comparison import compare
from dse.answers.explain.render import render, render_comparison
from dse.answers.whatif import (
    Candidates,
    Switch,
    binding_constraint,
    cap_switches,
    parameters_of,
    switch_among,
)
from dse.base.errors import InputError
from dse.base.settings import check_type
from dse.base.units import format_bytes, format_duration_ns
from dse.studies.points import (
    PREDICTION,
    SIMULATION,
    DesignPoint,
    point_of_row,
    record_point,
    strategy_of_row,
)


def explanation_of(point: DesignPoint) -> Explanation:
    """Simulate a point again, with a recording of the ranks that decide, or predict it, and explain it.

    Raises:
        InputError: its ranks deadlock.
    """
    check_type("explanation_of: point", point, DesignPoint, "a design point, such as dse.point_of_row(row)")
    return _EXPLAINED[point.scenario.method.name](point)


def _explain_recording(point: DesignPoint) -> Explanation:
    recording = record_point(point, decisive_only=True)
    label = point.strategy.label()
    if recording.outcome.status != "ok":
        raise InputError(f"{label} cannot be explained: {recording.outcome.reason}")
    return explain(recording, label)


_EXPLAINED = {PREDICTION.name: explain_prediction, SIMULATION.name: _explain_recording}


def answer(
    subject: Subject, *, items: int, with_switches: bool, framework: str = ""
) -> tuple[str, dict[str, Any]]:
    """Return the explanation of a subject as text and as plain data, also in the words of a framework.

    Raises:
        InputError: a point that cannot be evaluated again, or a simulated one that a framework should run.
    """
    assert subject.row is not None
    first = explanation_of(point_of_row(subject.row))
    texts = [render(first, items=items)]
    about = [subject.heading, *([subject.note] if subject.note else [])]
    data: dict[str, Any] = {
        "title": subject.title,
        "fidelity": subject.group.fidelity,
        "key": subject.row.key,
        **first.to_json(),
    }
    if subject.note:
        data["note"] = subject.note
    other = subject.runner_up
    if other is not None and other.key != subject.row.key:
        comparison = compare(first, explanation_of(point_of_row(other)))
        texts.append(render_comparison(comparison))
        data["versus"] = {"key": other.key, **comparison.to_json()}
    else:
        other = None
    if framework:
        from dse.answers.explain.settings import in_framework

        said, data["framework"] = in_framework(subject.row, other, framework)
        texts.append(said)
    candidates = Candidates(subject.candidates, subject.row, subject.memory_cap_bytes)
    if strategy_of_row(candidates.winner) == strategy_of_row(subject.row):
        binding = binding_constraint(candidates)
        about.append(f"what binds: {binding.sentence()}")
        data["binding"] = binding.to_json()
        if with_switches:
            found = switches_of(candidates)
            heading = "the smallest changes of one input at which another strategy wins"
            heading += f" ({candidates.note}):" if candidates.note else ":"
            texts.append("\n".join([heading, *(_line(switch) for switch in found)]))
            data["switches"] = [switch.to_json() for switch in found]
    return "\n\n".join([*about, *texts]), data


def switches_of(candidates: Candidates) -> list[Switch]:
    """Return for every input the nearest value at which another strategy wins, the smallest change first."""
    on = candidates.scenario
    varied = parameters_of(on.system, on.method)
    found = [switch_among(candidates, parameter) for parameter in varied]
    if candidates.winner.peak_memory_bytes is not None:
        found += cap_switches(candidates)
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
