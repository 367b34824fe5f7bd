"""The smallest change of one input at which another strategy wins, found by bisection with the engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from dse.answers.whatif.candidates import Candidates, first_of, fits
from dse.answers.whatif.parameters import Parameter
from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.points import strategy_of_row
from dse.studies.store import StudyRow

LIMIT = 64.0
"""By which factor a parameter is changed at most, up and down."""

GRID = (1.1, 1.25, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Factors, and their inverses, at which all strategies are compared before bisection; fine near 1."""

Cause = Literal["faster", "fits", "misfit"]

WIDTH = 1e-6
"""Relative width of the bracket of a switch."""


@dataclass(frozen=True)
class Switch:
    """Where another strategy begins to win.

    At `last_value` the winner of today still wins, at `first_value` another one does, and nothing was tried
    in between: they are at most 1e-6 apart (relatively), or neighbours if they are integers. `value` is that
    of today, None for a memory cap where there is none. `strategy` is the new winner, None if nothing fits.
    `wall_time_ns` is the new winner's, `old_wall_time_ns` that of the winner of today, both at `first_value`.

    `cause` is "faster"; or "fits" if the new winner does not fit under the cap today and does there; or
    "misfit" if the winner of today does not fit there: peaks depend on the order in which things happen.
    """

    key: str
    value: float | None
    last_value: float
    first_value: float
    strategy: Strategy | None
    wall_time_ns: int | None
    old_wall_time_ns: int | None
    cause: Cause

    @property
    def factor(self) -> float | None:
        """By what the input is multiplied: `first_value` / `value`."""
        return None if self.value is None else self.first_value / self.value

    def to_json(self) -> dict[str, Any]:
        """Plain data; the strategy as a dict of its fields."""
        strategy = None if self.strategy is None else vars(self.strategy)
        return {**vars(self), "strategy": strategy, "factor": self.factor}


def switch_among(candidates: Candidates, parameter: Parameter, limit: float = LIMIT) -> Switch | None:
    """Return the change of a parameter nearest to none at which another strategy wins, None within the limit.

    All candidates are compared on `GRID`, up to the limit, from the present value outwards, up and down in
    turn, until another one wins. The step before that is bisected. A strategy that wins only between two
    values of the grid is missed.

    Raises:
        InputError: the limit is not above 1.
    """
    if not (math.isfinite(limit) and limit > 1):
        raise InputError(f"limit {limit} is not a number above 1, such as {LIMIT:g}")
    present = strategy_of_row(candidates.winner)
    last = {1: parameter.value, -1: parameter.value}
    for factor in _grid(limit):
        found = []
        for direction, before in last.items():
            value = parameter.scaled(factor**direction)
            if value == before:
                continue  # an integer that rounds to what was tried
            row = candidates.winner_at(parameter, value)
            if row is None or strategy_of_row(row) != present:
                found.append(_bisected(candidates, parameter, before, value))
            last[direction] = value
        if found:
            return min(found, key=lambda switch: abs(math.log(switch.first_value / parameter.value)))
    return None


def cap_switches(candidates: Candidates) -> tuple[Switch | None, Switch | None]:
    """Return the largest cap below and the smallest cap above at which another strategy wins, if there are.

    Exact, from the rows alone. Without a cap there is none above.

    Raises:
        InputError: no point has a peak memory.
    """
    winner, cap = candidates.winner, candidates.memory_cap_bytes
    peak = winner.peak_memory_bytes
    if peak is None:
        raise InputError(
            "where a memory cap changes the answer needs peak memories, and the best point has none: "
            "turn on track_local_memory in the system and sweep again"
        )
    rows = [row for row in candidates.rows.values() if row.status == "ok"]
    below = _cap_switch(candidates, peak, peak - 1, rows)
    if cap is None:
        return below, None
    faster = [row.peak_memory_bytes for row in rows if first_of([winner, row]) is not winner]
    next_peak = min((size for size in faster if size is not None), default=None)
    above = None if next_peak is None else _cap_switch(candidates, next_peak - 1, next_peak, rows)
    return below, above


def _cap_switch(candidates: Candidates, last_value: int, first_value: int, rows: list[StudyRow]) -> Switch:
    best = first_of([row for row in rows if fits(row, first_value)])
    return Switch(
        key="memory_cap_bytes",
        value=candidates.memory_cap_bytes,
        last_value=last_value,
        first_value=first_value,
        strategy=None if best is None else strategy_of_row(best),
        wall_time_ns=None if best is None else best.wall_time_ns,
        old_wall_time_ns=candidates.winner.wall_time_ns,
        cause="fits" if fits(candidates.winner, first_value) else "misfit",
    )


def _bisected(candidates: Candidates, parameter: Parameter, last: float, first: float) -> Switch:
    """Narrow the step in which the winner changes.

    Bisection compares the winner only with one challenger, the winner at `first`; then all are compared at
    the bracket, and if a third one wins there already, that is the next challenger.
    """
    present = strategy_of_row(candidates.winner)

    def winner_at(value: float) -> StudyRow | None:
        return candidates.winner_at(parameter, value)

    while True:
        row = winner_at(first)
        challenger = None if row is None else strategy_of_row(row)
        pair = [present] if challenger is None else [present, challenger]

        def keeps(value: float, pair: list[Strategy] = pair) -> bool:
            row = candidates.winner_at(parameter, value, pair)
            return row is not None and strategy_of_row(row) == present

        below, first = _narrowed(keeps, last, first, is_integer=parameter.is_integer)
        row = winner_at(below)
        if row is not None and strategy_of_row(row) == present:
            break
        first = below
    new = winner_at(first)
    old = candidates.row_at(parameter, first, present)
    return Switch(
        key=parameter.key,
        value=parameter.value,
        last_value=below,
        first_value=first,
        strategy=None if new is None else strategy_of_row(new),
        wall_time_ns=None if new is None else new.wall_time_ns,
        old_wall_time_ns=old.wall_time_ns,
        cause=_cause(candidates, old, new),
    )


def _cause(candidates: Candidates, old: StudyRow, new: StudyRow | None) -> Cause:
    cap = candidates.memory_cap_bytes
    if new is None or not fits(old, cap):
        return "misfit"
    return "faster" if fits(candidates.rows[strategy_of_row(new)], cap) else "fits"


def _grid(limit: float) -> list[float]:
    """The factors up to the limit; beyond the last of `GRID` in steps of 2."""
    factors = [factor for factor in GRID if factor < limit]
    while factors and factors[-1] * 2 < limit:
        factors.append(factors[-1] * 2)
    return [*factors, limit]


def _narrowed(
    keeps: Callable[[float], bool], last: float, first: float, *, is_integer: bool
) -> tuple[float, float]:
    """Bisect until the values are neighbours; `keeps` holds at `last` and not at `first`."""
    while True:
        if is_integer:
            if abs(first - last) <= 1:
                return last, first
            middle: float = int(last + first) // 2
        else:
            if abs(first - last) <= WIDTH * min(first, last):
                return last, first
            middle = math.sqrt(last * first)
        if keeps(middle):
            last = middle
        else:
            first = middle
