"""Regret: how far the best point that a search found is from the best of the space."""

from __future__ import annotations

from dataclasses import dataclass

from dse.answers.groups import Group, groups
from dse.base.errors import InputError
from dse.base.expressions import Expression
from dse.base.lazy import pa, pc
from dse.studies.search.goals import number, numeric_columns
from dse.studies.store import Rows, as_table


@dataclass(frozen=True)
class Regret:
    """The best value found and the best there is, None without a point that is ok (and fits).

    `relative` is found / best - 1: 0 means that the optimum was found, 0.05 that what was found is 5 % worse;
    None if nothing was found, or the best is not above 0. `evaluations` counts the points of the search,
    `points` those of the truth.
    """

    found_value: float | None
    best_value: float | None
    relative: float | None
    evaluations: int
    points: int


def regret(
    found: Rows, truth: Rows, objective: str = "wall_time_ns", memory_cap_bytes: int | None = None
) -> Regret:
    """Return the regret of the rows `found` against all rows of their space.

    `objective` is an expression over numeric columns, minimised. With a cap, only points with a known peak
    memory of at most `memory_cap_bytes` count.

    Raises:
        InputError: a point found is not in the truth (says how many), or the objective is wrong.
    """
    found, truth = as_table(found), as_table(truth)
    keys = set(truth["key"].to_pylist())
    missing = sum(key is None or key not in keys for key in found["key"].to_pylist())
    if missing:
        raise InputError(
            f"{missing} of {found.num_rows} points of the searched study are not in the truth: sweep the "
            "same space with search=exhaustive and the same version, or compare with another study"
        )
    goal = Expression(objective, numeric_columns(), "objective")
    found_value = _best(found, goal, memory_cap_bytes)
    best_value = _best(truth, goal, memory_cap_bytes)
    has_ratio = found_value is not None and best_value is not None and best_value > 0
    relative = found_value / best_value - 1 if has_ratio else None  # type: ignore[operator]
    return Regret(found_value, best_value, relative, found.num_rows, truth.num_rows)


def by_group(found: pa.Table, truth: pa.Table) -> list[tuple[Group, Group]]:
    """Split both tables by the groups of the truth; those of which the search evaluated a point."""
    parts = []
    for group in groups(truth):
        some = found.filter(pc.is_in(found["key"], value_set=group.table["key"].combine_chunks()))
        if some.num_rows:
            parts.append((Group(group.title, some), group))
    return parts


def _best(table: pa.Table, goal: Expression, memory_cap_bytes: int | None) -> float | None:
    table = table.filter(pc.field("status") == "ok")
    if memory_cap_bytes is not None:
        table = table.filter(pc.field("peak_memory_bytes") <= memory_cap_bytes)
    rows = table.select(list(goal.names_used)).to_pylist()
    values = [number(goal, row) for row in rows]
    return min((value for value in values if value is not None), default=None)
