"""Actions of a pipeline in torch's notation, and the order in which ranks can run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FORWARD, BACKWARD, INPUT, WEIGHT = KINDS = ("F", "B", "I", "W")
"""Forward pass, whole backward pass, gradient of the input, gradient of the weights."""

_ACTION = re.compile(r"(\d{1,6})([FBIW])(\d{1,6})")
_PAIR = re.compile(r"\(([^;()]*);([^;()]*)\)OVERLAP_F_B")
_ADDED = re.compile(r"\d*(SEND|RECV|UNSHARD|RESHARD|REDUCE_GRAD)")


class Action(NamedTuple):
    """One pass of one micro-batch through one stage; stages are numbered in the order of the model."""

    stage: int
    kind: str
    micro_batch: int

    def __str__(self) -> str:
        """Return it as torch writes it."""
        return f"{self.stage}{self.kind}{self.micro_batch}"


Cell = tuple[Action, ...]
"""Actions of one tick: none, one, or a forward pass that overlaps a backward pass."""


class Spot(NamedTuple):
    """A place in a table: a rank and a cell of its line, both from 0."""

    rank: int
    cell: int


class Stuck(NamedTuple):
    """A cell that no order of the ranks lets run, and the action that it waits for."""

    spot: Spot
    action: Action
    waits_for: Action


def parsed(text: str) -> Cell:
    """Return the actions of a cell.

    Raises:
        ValueError: it has another text; says which are allowed.
    """
    text = text.strip()
    if not text:
        return ()
    pair = _PAIR.fullmatch(text)
    found = [_ACTION.fullmatch(part.strip()) for part in (pair.groups() if pair else (text,))]
    actions = tuple(Action(int(one[1]), one[2], int(one[3])) for one in found if one)
    if len(actions) < len(found):
        if _ADDED.match(text):
            raise ValueError("torch adds messages and shards itself; list passes only: F, B, I and W")
        raise ValueError(
            "an action is a stage, one of F, B, I and W, and a micro-batch, such as 2F0, or a pair such as "
            "(0F3;3B1)OVERLAP_F_B"
        )
    return actions


def waits_for(action: Action, last: int, splits: bool) -> Iterator[Action]:
    """Yield what must end before an action, without the passes that only it would follow by chance.

    `last` is the last stage. `splits` tells that the stage behind has the gradient of its input apart.
    """
    stage, kind, batch = action
    if kind == FORWARD:
        if stage:
            yield Action(stage - 1, FORWARD, batch)
    elif kind == WEIGHT:
        yield Action(stage, INPUT, batch)
    else:
        yield Action(stage, FORWARD, batch)
        if stage < last:
            yield Action(stage + 1, INPUT if splits else BACKWARD, batch)


def ticks(lines: Sequence[Sequence[Cell]], last: int) -> tuple[list[list[int]], Stuck | None]:
    """Return the earliest tick of each cell if every rank runs its cells in order, a tick each.

    A cell without actions takes no tick. The second value is a cell that can never run, None if all do.
    """
    split = {
        (one.stage, one.micro_batch) for line in lines for cell in line for one in cell if one.kind == INPUT
    }
    done: dict[Action, int] = {}
    found: list[list[int]] = [[] for _ in lines]
    waiting: dict[Action, list[int]] = {}
    ready = list(range(len(lines)))
    while ready:
        rank = ready.pop()
        line, own = lines[rank], found[rank]
        while len(own) < len(line):
            needs = [need for one in line[len(own)] for need in waits_for(one, last, _behind(one) in split)]
            lacking = next((need for need in needs if need not in done), None)
            if lacking is not None:
                waiting.setdefault(lacking, []).append(rank)
                break
            tick = max((done[need] + 1 for need in needs), default=0)
            if own:
                tick = max(tick, own[-1] + bool(line[len(own) - 1]))
            own.append(tick)
            for one in line[len(own) - 1]:
                done[one] = tick
                ready += waiting.pop(one, [])
    return found, _stuck(lines, found, done, last, split)


def _behind(action: Action) -> tuple[int, int]:
    return action.stage + 1, action.micro_batch


def _stuck(
    lines: Sequence[Sequence[Cell]],
    found: Sequence[Sequence[int]],
    done: dict[Action, int],
    last: int,
    split: set[tuple[int, int]],
) -> Stuck | None:
    """The first cell that waits for ever; one whose own line has what it waits for comes before others."""
    stuck = []
    for rank, (line, own) in enumerate(zip(lines, found, strict=True)):
        if len(own) < len(line):
            for one in line[len(own)]:
                for need in waits_for(one, last, _behind(one) in split):
                    if need not in done:
                        is_own = any(need in cell for cell in line)
                        stuck.append((not is_own, Stuck(Spot(rank, len(own)), one, need)))
    return min(stuck)[1] if stuck else None
