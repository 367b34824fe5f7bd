"""An explanation of a plan as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dse.base.texts import printable, table
from dse.planner.files.output import (
    defect_lines,
    excluded_lines,
    layers_text,
    nothing_text,
    proof_text,
    throughput_lines,
    types_text,
)
from dse.planner.questions.bottleneck import batches_text
from dse.planner.throughput import difference, duration

_LEAST_SHARE = 5e-4  # of the step; what is below is not told
_MOST_MOVES = 6


def explained_text(data: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Return the explanation of a document's plan, in words."""
    if found["best"] is None:
        return nothing_text(data)
    cost_ms = found["cost_ms"]
    lines = [f"{found['best']}: {duration(cost_ms)} per step under {data['cost_model']}; {proof_text(data)}"]
    lines += [*throughput_lines(found), *defect_lines(found), *excluded_lines(data), ""]
    lines += [f"- {printable(sentence)}" for sentence in found["reasons"]]
    lines += ["", *_stage_lines(found["stages"]), "", *_move_lines(found)]
    lines += ["", *_other_lines(found)]
    lines += ["", *_simulation_lines(found["simulation"], cost_ms)]
    return "\n".join(lines).rstrip()


def _stage_lines(stages: list[Mapping[str, Any]]) -> list[str]:
    rows = []
    for stage in stages:
        roles = [
            role
            for role, holds in (
                ("sets the pace", stage["sets_the_pace"]),
                ("reduces and updates longest", stage["ends_the_step"]),
            )
            if holds
        ]
        memory = ", ".join(
            f"{printable(name)} {100 * share:.0f} %" for name, share in stage["memory_share"].items()
        )
        times: tuple[str, ...] = ("not priced", "-", "-")
        if stage["period_ms"] is not None:
            waiting = f"{100 * stage['idle_share']:.1f}"
            times = (duration(stage["period_ms"]), waiting, duration(stage["gradients_ms"]))
        rows.append(
            (
                str(stage["stage"]),
                types_text(stage["types"]),
                layers_text(stage["layers"]),
                *times,
                memory or "-",
                ", ".join(roles) or "-",
            )
        )
    header = ("stage", "GPUs", "layers", "time", "% waiting", "gradients", "memory", "role")
    return ["stages, of a micro-batch with what it sends:", *table(header, rows)]


def _move_lines(found: Mapping[str, Any]) -> list[str]:
    """The boundaries next to the stages that set the pace; others are in the JSON."""
    pace = {stage["stage"] for stage in found["stages"] if stage["sets_the_pace"]}
    moves = [move for move in found["moves"] if move["from"] in pace]
    if not moves:
        return ["no layer can leave a stage that sets the pace: it has no priced neighbour, or one layer"]
    lines = ["a layer less on a stage that sets the pace:"]
    for move in moves[:_MOST_MOVES]:
        what = f"- from stage {move['from']} to stage {move['to']}: "
        if move["refused"] is not None:
            lines.append(f"{what}cannot be: {printable(move['refused'])}")
        else:
            lines.append(f"{what}{difference(move['ms'])} per step")
    if len(moves) > _MOST_MOVES:
        lines.append(f"- and {len(moves) - _MOST_MOVES} more; format=json has all")
    return lines


def _other_lines(found: Mapping[str, Any]) -> list[str]:
    others = found["others"]
    if not others:
        return ["no other plan was kept"]
    lines = ["what the next plans lose, of types, stages or micro-batches of their own:"]
    for other in others:
        parts = sorted(other["parts_ms"].items(), key=lambda part: -abs(part[1]))
        told = [
            f"{name} {difference(ms)}" for name, ms in parts if abs(ms) > _LEAST_SHARE * found["cost_ms"]
        ] or ["nothing that tells"]
        lines.append(
            f"- {difference(other['longer_ms'])}: {other['plan']}, {batches_text(other['batches'])}, "
            f"{', '.join(map(printable, other['types']))}: {', '.join(told)}"
        )
    return lines


def _simulation_lines(simulation: Mapping[str, Any] | None, cost_ms: float) -> list[str]:
    if simulation is None:
        return []
    if simulation["refused"] is not None:
        return [f"not simulated: {printable(simulation['refused'])}"]
    effects = [
        f"- {difference(effect['ms'])} {effect['name']}: {effect['meaning']}"
        for effect in sorted(simulation["effects"], key=lambda effect: -abs(effect["ms"]))
        if abs(effect["ms"]) > _LEAST_SHARE * cost_ms
    ]
    longer_ms = simulation["step_ms"] - cost_ms
    what = f"simulated: {duration(simulation['step_ms'])}, {difference(longer_ms)}"
    lines = [f"{what}; of it", *effects] if effects else [what]
    if simulation["short_of_memory"]:
        lines.append(f"which no memory allows: {printable(simulation['short_of_memory'])}")
    return lines
