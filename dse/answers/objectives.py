"""The winner by a figure of the training run, over all machines, and that without failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.answers.caps import fitting_rows
from dse.answers.groups import Group
from dse.answers.selection import Whole, finished_points, rank_order
from dse.answers.summary import render_rows, row_to_json
from dse.base.errors import InputError
from dse.base.lazy import pa, pc
from dse.base.texts import counted
from dse.base.units import format_time
from dse.studies.store import StudyRow

COLUMNS = {"expected_time": "run_time_s", "cost": "run_cost", "energy": "run_energy_mwh"}
OBJECTIVE_COLUMNS = (*COLUMNS.values(), "run_effective_pct")
_NAMES = {"expected_time": "expected time", "cost": "cost", "energy": "energy"}
_SHOWN_MACHINES = 12


@dataclass(frozen=True)
class ObjectiveAnswer:
    """The best points of one model by a figure of its run.

    `machines` has that of each system and size, best first. `plain` is the best if nothing failed, no
    checkpoint were written and nothing stopped: by the share of the figure that steps take.
    """

    objective: str
    model: str
    machines: Sequence[StudyRow]
    plain: StudyRow

    @property
    def best(self) -> StudyRow:
        """The best of all."""
        return self.machines[0]

    @property
    def is_changed(self) -> bool:
        """Whether failures change the winner."""
        return self.best.key != self.plain.key

    @property
    def heading(self) -> str:
        """The title of the answer."""
        return f"{self.model}: least {_NAMES[self.objective]} of the run, by system and size"

    @property
    def effect(self) -> str:
        """Whether failures change the winner, and by what, in a sentence."""
        if not self.is_changed:
            return (
                f"without failures and checkpoints, {_machine(self.best)} wins, too: {_failures(self.best)}"
            )
        each = [f"{_machine(row)} {_failures(row)}" for row in (self.plain, self.best)]
        return f"failures change the winner: {'; '.join(each)}"

    def data(self) -> dict[str, Any]:
        """Return plain data: the best of each machine, best first, and the best without failures."""
        return {
            "title": f"{self.model}: {_NAMES[self.objective]}",
            "objective": self.objective,
            "machines": [row_to_json(row) for row in self.machines],
            "best_without_failures": row_to_json(self.plain),
        }


def objective_answers(
    found: Sequence[Group], caps: Sequence[int | None], objective: str, whole: Whole
) -> list[ObjectiveAnswer]:
    """Return for each model its best points by an objective other than the step, of groups under their caps.

    Raises:
        InputError: no point has the figure.
    """
    column = COLUMNS[objective]
    candidates: dict[str, list[pa.Table]] = {}
    plain: dict[str, list[pa.Table]] = {}
    for group, limit in zip(found, caps, strict=True):
        part = fitting_rows(group.table.take(finished_points(group.table)), limit)
        part = part.filter(part[column].is_valid())
        if part.num_rows:
            model = part["model"][0].as_py()
            candidates.setdefault(model, []).append(_first(part, part[column]))
            without_failures = pc.multiply(part[column], part["run_effective_pct"])
            plain.setdefault(model, []).append(_first(part, without_failures))
    if not candidates:
        extra = " run.price=2.5" if objective == "cost" else ""
        raise InputError(
            f"objective is {objective}, but no point that fits has {column}: sweep with run.tokens=15T{extra}"
        )
    return [_answer(objective, model, candidates[model], plain[model], whole) for model in candidates]


def _answer(
    objective: str, model: str, firsts: list[pa.Table], plain: list[pa.Table], whole: Whole
) -> ObjectiveAnswer:
    column = COLUMNS[objective]
    rows = whole(pa.concat_tables([*firsts, *plain]))
    machines = sorted(rows[: len(firsts)], key=lambda row: getattr(row, column))
    best = min(rows[len(firsts) :], key=lambda row: getattr(row, column) * (row.run_effective_pct or 0.0))
    return ObjectiveAnswer(objective, model, machines, best)


def _first(table: pa.Table, figures: pa.ChunkedArray) -> pa.Table:
    """Return the row of the least figure; of several the first by rank."""
    least = table.filter(pc.equal(figures, pc.min(figures)))
    return least.take(rank_order(least)[:1])


def objective_text(answer: ObjectiveAnswer, *, exact: bool = False) -> str:
    """Return the answer as a table of machines, and how failures change it."""
    shown = answer.machines[:_SHOWN_MACHINES]
    labels = [("  best " if row is answer.best else "  ") + _machine(row) for row in shown]
    size = max(map(len, labels))
    labelled = [(label.ljust(size), row) for label, row in zip(labels, shown, strict=True)]
    if answer.is_changed:
        labelled.append((f"  without failures {_machine(answer.plain)}", answer.plain))
    lines = [answer.heading, "", render_rows(labelled, exact=exact)]
    left = len(answer.machines) - len(shown)
    lines += [f"... and {left} more systems or sizes"] if left else []
    return "\n".join([*lines, answer.effect])


def _failures(row: StudyRow) -> str:
    failures, time_s = row.run_failures or 0.0, row.run_time_s or 0.0
    if not failures:
        return "has none"
    many = f"fails {counted(round(failures), 'time')}" if failures >= 1 else f"fails {failures:.2g} times"
    lost = 100 - (row.run_effective_pct or 0.0)
    return f"{many}, once in {format_time(time_s / failures)}, and loses {lost:.2g} % of its time"


def _machine(row: StudyRow) -> str:
    return f"{row.system}, {row.npus:,} NPUs"
