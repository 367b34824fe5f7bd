"""Constants of accelerators and frameworks fitted to measured steps, with what the rows tell of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dse.base.lazy import NDArray, np
from dse.prediction.accuracy.accuracy import fold_names
from dse.prediction.calibration.constants import Owner, Sample, Values, problem
from dse.prediction.calibration.fitting import PULL, Constant, fit, left_out, tolerances, uncertainties

SPARE_ROWS = 2
_DIGITS = 3
_MOST_UNCERTAIN = 0.25
_LEAST_TOLERANCE = 0.02
_FLAT = 1e-4
_STILL = 0.01
_FOLDS = 5
_LEAST_GROUPS = 3


@dataclass(frozen=True)
class FittedConstant:
    """A constant, its standard uncertainty (None if the rows say nothing of it), and a warning, or none."""

    name: str
    value: float
    uncertainty: float | None
    warning: str = ""


@dataclass(frozen=True)
class Calibration:
    """The constants of one owner: `before_pct` and `mape_pct` are mean absolute errors of its `rows`.

    `types` are the accelerators that they ran on, one or more that share constants; `kinds` their
    frameworks, and experts and cp where some have these.

    `cross_mape_pct` is that error with constants fitted to other rows; `folds` says which were left out at a
    time.
    """

    owner: Owner
    constants: Sequence[FittedConstant]
    rows: int
    types: Sequence[str]
    sources: Sequence[str]
    before_pct: float
    mape_pct: float
    cross_mape_pct: float
    folds: str
    is_converged: bool
    kinds: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, float]:
        """The constants by name."""
        return {each.name: each.value for each in self.constants}

    @property
    def uncertainty(self) -> dict[str, float]:
        """Standard uncertainties by name, of those that the rows tell."""
        return {each.name: each.uncertainty for each in self.constants if each.uncertainty is not None}

    @property
    def summary(self) -> str:
        """A summary of what was fitted on what, for the file of the owner."""
        types = "" if self.owner.is_framework else f" on {', '.join(self.types)}"
        where = f"{self.rows} steps{types} of {', '.join(self.sources)}"
        if not self.uncertainty:
            return f"not fitted: {where} do not depend on it"
        error = f"mean error {self.cross_mape_pct:.1f} % {self.folds}, {self.mape_pct:.1f} % as fitted"
        return f"fitted to {where}: {error}"


def enough_rows(constants: int) -> int:
    """Return how many rows a fit of some constants needs at least."""
    return constants + SPARE_ROWS


def calibrate(steps: Sequence[Sample], present: Values, starts: Values) -> list[Calibration]:
    """Fit constants of one or more owners together, each with `enough_rows` of its own at least.

    `present` are their values now, `starts` (of the same names) from where they are searched. A constant that
    no row depends on has the share of kernels, or stays as it is now; so do all that are searched from there
    and change by less than 1 %.
    """
    everything = list(range(len(steps)))
    before = problem(steps, present)
    before_ratios = before.log_ratios([each.start for each in before.constants], everything)
    task = problem(steps, starts)
    found = fit(task)
    told = np.abs(found.slopes).max(axis=0) > _FLAT
    rounded = [
        _rounded(value) if is_told else _untold(now, first)
        for value, is_told, now, first in zip(
            found.values, told, before.constants, task.constants, strict=True
        )
    ]
    if starts == present:
        rounded = _settled(rounded, [each.start for each in before.constants])
    ratios = task.log_ratios(rounded, everything)
    folds, name_of_folds = _folds(steps)
    crossed = np.zeros(len(steps))
    for fold in folds:
        crossed[fold] = left_out(task, found, fold)
    groups: Sequence[object] = [step.group for step in steps]
    if len(set(groups)) < _LEAST_GROUPS:
        groups = everything
    shares, alone = uncertainties(task, found, groups), tolerances(found)
    calibrations, place = [], 0
    for owner, named in starts.items():
        rows = list(task.constants[place].rows)
        constants = [
            _constant(owner, name, rounded[i], bool(told[i]), shares[i], alone[i])
            for i, name in enumerate(named, place)
        ]
        calibrations.append(
            Calibration(
                owner=owner,
                constants=constants,
                rows=len(rows),
                types=sorted({steps[row].cluster.accelerator.name for row in rows}),
                sources=list(dict.fromkeys(steps[row].row.publisher for row in rows)),
                before_pct=_mape_pct(before_ratios[rows]),
                mape_pct=_mape_pct(ratios[rows]),
                cross_mape_pct=_mape_pct(crossed[rows]),
                folds=name_of_folds,
                is_converged=found.is_converged,
                kinds=kinds_of([steps[row] for row in rows]),
            )
        )
        place += len(named)
    return calibrations


def left_out_mape_pct(steps: Sequence[Sample], starts: Values, folds: str = "source") -> dict[str, float]:
    """Return for each source the mean absolute error of rows with constants fitted to other folds, in %.

    A constant on which only rows of the fold depend has the value of `starts`. Folds are of `fold_names`.
    """
    task = problem(steps, starts)
    found = fit(task)
    crossed = np.zeros(len(steps))
    for held in alike_places(fold_names([step.row for step in steps], folds)):
        crossed[held] = left_out(task, found, held)
    sources = [step.row.source for step in steps]
    return {sources[places[0]]: _mape_pct(crossed[places]) for places in alike_places(sources)}


def kinds_of(steps: Sequence[Sample]) -> tuple[str, ...]:
    """The features of steps: frameworks, experts, cp."""
    frameworks = {owner.name for step in steps for owner in step.owners if owner.is_framework}
    has = {
        "experts": any(step.row.experts for step in steps),
        "cp": any((step.row.cp or 1) > 1 for step in steps),
    }
    return (*sorted(frameworks), *(kind for kind, is_there in has.items() if is_there))


def alike_places(names: Sequence[object]) -> list[list[int]]:
    """Return the places of equal names."""
    places: dict[object, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return list(places.values())


def _folds(steps: Sequence[Sample]) -> tuple[list[list[int]], str]:
    """Rows to leave out at a time, and how to call that: sources, or else parts of equal models."""
    by_source = alike_places([step.row.publisher for step in steps])
    by_group = alike_places([step.group for step in steps])
    if len(by_source) > 1:
        return by_source, "with each source left out"
    count = min(_FOLDS, len(by_group))
    if count > 1:
        folds: list[list[int]] = [[] for _ in range(count)]
        for number, group in enumerate(by_group):
            folds[number % count] += group
        return folds, f"in {count} folds by model"
    places = list(range(len(steps)))
    return [places[number::_FOLDS] for number in range(min(_FOLDS, len(steps)))], f"in {_FOLDS} folds"


def _constant(
    owner: Owner, name: str, value: float, is_told: bool, share: float, tolerance: float
) -> FittedConstant:
    low, high = owner.bounds(name)
    uncertainty = float(f"{value * share:.2g}") if is_told and math.isfinite(share) else None
    warning = ""
    if not is_told:
        warning = f"no row depends on {name}; it stays at {value:g}"
    elif not low * 1.005 < value < high * 0.995:
        warning = f"{name} is at its bound, {value:g}: the rows want a value that no hardware has"
    elif share > _MOST_UNCERTAIN:
        warning = f"the rows hardly tell {name}: its standard uncertainty is {100 * share:.0f} %"
    elif tolerance < _LEAST_TOLERANCE:
        warning = f"the rows hardly tell {name} from the other constants"
    return FittedConstant(name, value, uncertainty, warning)


def _mape_pct(log_ratios: NDArray[np.float64]) -> float:
    return 100 * float(np.abs(np.expm1(log_ratios)).mean())


def _untold(now: Constant, first: Constant) -> float:
    """A constant that no row depends on: the share of kernels where these are known, else as it is now."""
    return first.start if first.pull > PULL else now.start


def _settled(values: list[float], present: list[float]) -> list[float]:
    """The present values if none changes by as much as a hundredth: a fit of its own outcome ends there."""
    changes = [abs(math.log(value / now)) for value, now in zip(values, present, strict=True)]
    return present if max(changes) < _STILL else values


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
