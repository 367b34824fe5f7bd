"""A pipeline schedule that torch's CSV says: its actions, and whether ranks can run them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dse.base.errors import excerpt
from dse.inputs.strategies.schedules import SCHEDULES
from dse.prediction.frameworks.writing.schedules import (
    BACKWARD,
    FORWARD,
    INPUT,
    WEIGHT,
    Action,
    schedule_actions,
    ticks,
)

_ACTION = re.compile(r"([0-9]{1,6})([FBIW])([0-9]{1,6})", re.ASCII)
_PAIR = re.compile(r"\(([^;()]+);([^;()]+)\)OVERLAP_F_B")

Lines = list[list[Action]]


def read_actions(text: str) -> tuple[Lines, str]:
    """Return what each rank runs, a line each, and the first cell that torch would not read."""
    lines: Lines = []
    for number, line in enumerate(text.splitlines(), 1):
        actions: list[Action] = []
        for cell in filter(None, (each.strip() for each in line.split(","))):
            pair = _PAIR.fullmatch(cell)
            found = [_ACTION.fullmatch(one) for one in (pair.groups() if pair else (cell,))]
            for one in found:
                if one is None:
                    return lines, f"line {number}: '{excerpt(cell)}' is no action such as 0F0, 1I2 or 1W2"
                actions.append(Action(int(one[1]), one[2], int(one[3])))
        lines.append(actions)
    return lines, ""


def problem_of(lines: Lines, ranks: int, stages: int, micro_batches: int, *, is_v: bool) -> str:
    """Return why ranks cannot run a schedule, an empty text if they can.

    Stage s is that of rank s mod `ranks`; with `is_v` the second half goes back from the last rank. torch
    asks no line whose stages it has: lines in another order hang, or train another model.
    """
    if len(lines) != ranks:
        return f"has {len(lines)} lines; each of {ranks} ranks needs one"
    for rank, line in enumerate(lines):
        problem = _of_line(line, rank, ranks, stages, micro_batches, is_v)
        if problem:
            return f"line {rank + 1}: {problem}"
    _, stuck = ticks(lines, stages - 1)
    return f"waits for ever: {stuck[0]} for {stuck[1]}" if stuck else ""


def _of_line(
    line: Sequence[Action], rank: int, ranks: int, stages: int, micro_batches: int, is_v: bool
) -> str:
    own_stages = (rank, 2 * ranks - 1 - rank) if is_v else range(rank, stages, ranks)
    seen: dict[tuple[int, int], set[str]] = {}
    for action in line:
        if action.stage not in own_stages:
            return f"{action} is of no stage of this rank, which has {', '.join(map(str, own_stages))}"
        if action.micro_batch >= micro_batches:
            return f"{action} is of no micro-batch: there are {micro_batches}, numbered from 0"
        kinds = seen.setdefault((action.stage, action.micro_batch), set())
        if action.kind in kinds:
            return f"{action} is there twice"
        kinds.add(action.kind)
    for stage in own_stages:
        for batch in range(micro_batches):
            has = seen.get((stage, batch), set())
            if has not in ({FORWARD, BACKWARD}, {FORWARD, INPUT, WEIGHT}):
                passes = " ".join(sorted(has)) or "no pass"
                return f"stage {stage} has {passes} of micro-batch {batch}; it needs F, and B or I with W"
    return ""


def known_schedule(lines: Lines, ranks: int, chunks: int, micro_batches: int) -> str:
    """Return the schedule that has the same actions in the same order, an empty text if none has."""
    for name, schedule in SCHEDULES.items():
        can_run = not schedule.problem(ranks, chunks, micro_batches)
        if can_run and schedule_actions(schedule, ranks, chunks, micro_batches) == lines:
            return name
    return ""
