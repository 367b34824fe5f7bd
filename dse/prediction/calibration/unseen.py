"""Errors of published runs whose models were left out of the fit: what intervals of predictions rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date

from dse.prediction.accuracy.accuracy import fold_names
from dse.prediction.accuracy.comparison import Compared, compare
from dse.prediction.accuracy.ranking import LEAST_STRATEGIES, ranked_groups
from dse.prediction.calibration.calibration import alike_places
from dse.prediction.calibration.constants import Sample, Values, problem, samples
from dse.prediction.calibration.fitting import fit, left_out
from dse.prediction.calibration.subjects import shipped_problem
from dse.prediction.intervals.kinds import kind_of
from dse.prediction.intervals.ties import pairs_of, telling_gap, written
from dse.prediction.intervals.unseen import Unseen, write
from dse.prediction.measured.rows import MeasuredRow


def unseen_errors(steps: Sequence[Sample], starts: Values) -> list[Unseen]:
    """Return each step with its error under constants fitted to the steps of other models.

    Constants are searched from `starts`, as `left_out_mape_pct` does. The fit is made once for each fold.
    """
    task = problem(steps, starts)
    found = fit(task)
    errors = [0.0] * len(steps)
    for held in alike_places(fold_names([step.row for step in steps], "model")):
        for place, error in zip(held, left_out(task, found, held), strict=True):
            errors[place] = float(error)
    return [unseen(step, error) for step, error in zip(steps, errors, strict=True)]


def never_fitted_errors(compared: Sequence[Compared], fitted: Sequence[Sample]) -> list[Unseen]:
    """Return rows that no constant is fitted to, such as those of a type with few rows, as runs."""
    known = {step.row.id for step in fitted}
    others = {one.row.id: one for one in compared if one.is_expressible and one.row.id not in known}
    steps, _ = samples([one.row for one in others.values()])
    return [unseen(step, math.log(others[step.row.id].predicted_s / step.row.iter_s)) for step in steps]


def unseen(step: Sample, error: float) -> Unseen:
    """Return a step and its error as a run of the table of unseen ones."""
    row = step.row
    experts = f" with {row.experts} experts" if row.experts else ""
    return Unseen(
        kind=kind_of(step.model, step.plan, step.cluster),
        publisher=row.publisher,
        model=f"{row.layers} x {row.hidden}{experts}",
        error=error,
    )


def tables(rows: Sequence[MeasuredRow]) -> tuple[dict[str, str], list[Unseen]]:
    """Return the tables of `dse.prediction.intervals`, texts by file name, and the errors in one of them.

    `rows` are those that the shipped constants are fitted to.
    """
    steps, _, starts, _ = shipped_problem(rows)
    compared = compare(rows)
    runs = [*unseen_errors(steps, starts), *never_fitted_errors(compared, steps)]
    groups = [group for group in ranked_groups(compared) if len(group) >= LEAST_STRATEGIES]
    pairs = pairs_of(groups)
    made = f"{date.today().isoformat()}, dse calibrate --unseen"
    ties = written(telling_gap(pairs), len(pairs), len(groups), made)
    return {"time.csv": write(runs, f"{len(runs)} rows, {made}"), "ties.csv": ties}, runs
