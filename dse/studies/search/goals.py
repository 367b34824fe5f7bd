"""The objectives of a search, and the budgets that hold: expressions over the columns of a row."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import get_args, get_type_hints

from dse.base.errors import InputError
from dse.base.expressions import Expression
from dse.base.expressions.tree import Compare, Every, Node
from dse.inputs.systems.values import memory_of_spec
from dse.studies.store import StudyRow

NOT_OK = 100.0
"""The violation of a row that is not ok: worse than a budget that is missed a hundredfold."""

_STRICT = 1e-9  # the violation of `a < b` where a == b


def numeric_columns() -> tuple[str, ...]:
    """The columns of a row that an expression may name: all numbers and flags."""
    names = []
    for name, hint in get_type_hints(StudyRow).items():
        if {*get_args(hint), hint} & {int, float, bool}:
            names.append(name)
    return tuple(names)


class Goals:
    """Objectives, all minimised, and budgets, all to be kept.

    Both are expressions (docs/search.md) over the numeric columns of a row, `npus` among them. A budget may
    also name `memory_cap_bytes`, which with `by_system` is the memory of an NPU of the row's system.

    Raises:
        InputError: an expression is wrong, or there is no objective; names the key (`search.budgets.0`).
    """

    def __init__(
        self,
        objectives: Sequence[str],
        budgets: Sequence[str] = (),
        memory_cap_bytes: int | None = None,
        *,
        by_system: bool = False,
    ) -> None:
        """Parse all of them."""
        if not objectives:
            raise InputError("search.objectives is empty; it must list at least one, such as [wall_time_ns]")
        columns = numeric_columns()
        given = () if memory_cap_bytes is None else ("memory_cap_bytes",)
        self._cap = dict.fromkeys(given, memory_cap_bytes)
        self._by_system = by_system
        self._objectives = [
            Expression(text, columns, f"search.objectives.{index}") for index, text in enumerate(objectives)
        ]
        self._budgets = [
            _Budget(text, (*columns, *given), f"search.budgets.{index}") for index, text in enumerate(budgets)
        ]

    @property
    def count(self) -> int:
        """Number of objectives."""
        return len(self._objectives)

    def values(self, row: StudyRow) -> list[float] | None:
        """Return the objectives of a row; None if it is not ok, or has no finite value for one of them.

        Raises:
            InputError: an objective yields true or false.
        """
        if row.status != "ok":
            return None
        known = self._known(row)
        values = [number(objective, known) for objective in self._objectives]
        if any(value is None or not math.isfinite(value) for value in values):
            return None
        return [float(value) for value in values if value is not None]

    def violations(self, row: StudyRow) -> list[float]:
        """Return by how much each budget is missed: 0 where it holds, 0.1 for a tenth above it.

        A budget over a value that the row lacks, such as a peak memory that is not tracked, is missed by 1.

        Raises:
            InputError: a budget yields a number instead of true or false.
        """
        known = self._known(row)
        return [budget.violation(known) for budget in self._budgets]

    def _known(self, row: StudyRow) -> dict[str, float | None]:
        cap = dict.fromkeys(self._cap, memory_of_spec(row.system_spec)) if self._by_system else self._cap
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)} | cap


class _Budget:
    """One budget; its comparisons are taken apart, so that a search learns how far off a point is."""

    def __init__(self, text: str, names: Sequence[str], key: str) -> None:
        self._whole = Expression(text, names, key)
        self._parts = [
            (self._whole.evaluator(left), sign, self._whole.evaluator(right))
            for left, sign, right in _comparisons(self._whole.tree)
        ]

    def violation(self, known: Mapping[str, float | None]) -> float:
        values = {name: value for name, value in known.items() if value is not None}
        if any(name not in values for name in self._whole.names_used):
            return 1.0
        if self._whole.holds(values):
            return 0.0
        amounts = [_STRICT]
        for left, sign, right in self._parts:
            a, b = left(values), right(values)
            amounts.append(sign * (a - b) / (abs(b) or 1.0))
        return max(amounts) if self._parts else 1.0


def _comparisons(node: Node) -> list[tuple[Node, int, Node]]:
    """Take `a <= b and c > d` apart; what is none of these yields nothing, and is missed by 1 or not."""
    if isinstance(node, Every):
        parts = [_comparisons(operand) for operand in node.operands]
        return [pair for part in parts for pair in part] if all(parts) else []
    if not isinstance(node, Compare) or any(sign in ("==", "!=") for sign in node.signs):
        return []
    directions = [1 if sign in ("<", "<=") else -1 for sign in node.signs]
    return list(zip(node.operands, directions, node.operands[1:], strict=False))


def number(expression: Expression, known: Mapping[str, float | None]) -> float | None:
    """Return the value for a row, infinite where it is too large, None where a column has no value.

    Raises:
        InputError: it is true or false.
    """
    if any(known[name] is None for name in expression.names_used):
        return None
    value = expression.evaluate({name: value for name, value in known.items() if value is not None})
    if isinstance(value, bool):
        raise InputError(f"{expression.key} '{expression.text}' is true or false; it must be a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf
