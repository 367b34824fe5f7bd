"""Few positive constants fitted to many measured times, robustly, and how well the rows tell them.

What is least is the weighted mean of |log(predicted / measured)|, rounded off below 1 %, plus a weak pull of
each constant to its start, so that one which the rows do not tell stays there. Each round linearises the
logarithm of the predictions over that of the constants and finds the least of that within bounds and a trust
region, by reweighted least squares (Holland and Welsch, 1977). The same rows give the same constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dse.base.lazy import NDArray, np

Array: TypeAlias = "NDArray[np.float64]"
Rows: TypeAlias = "NDArray[np.int64]"

SOFT = 0.01  # errors below 1 % are measured alike
PULL = 0.0005  # a constant changes by a factor of 2.7 only if that lowers the mean error by 0.05 points
_DIFFERENCE = 0.01
_MOST_ROUNDS = 60
_FIRST_RADIUS, _LEAST_RADIUS, _MOST_RADIUS = 0.7, 1e-3, 2.0
_LEAST_GAIN = 1e-5
_SCANNED_ROWS, _SCANNED_VALUES = 200, 6
_RESAMPLES = 60
_MOST_SETS = 500


@dataclass(frozen=True)
class Constant:
    """A number above 0 to fit, from `low` to `high`, and the rows whose prediction may depend on it.

    It changes by a factor of 2.7 from `start` only if that lowers the mean error by `pull`.
    """

    name: str
    low: float
    high: float
    start: float
    rows: tuple[int, ...]
    pull: float = PULL


@dataclass(frozen=True)
class Problem:
    """The problem of a fit: `log_ratios(values, rows)` returns log(predicted / measured) of these rows."""

    constants: Sequence[Constant]
    weights: Array
    log_ratios: Callable[[Sequence[float], Sequence[int]], Array]


@dataclass(frozen=True)
class Fit:
    """Fitted values; of the rows fitted to, log(predicted / measured), shape (rows,), and `slopes`.

    `slopes` are the derivatives of these over the logarithms of the constants, shape (rows, constants).
    """

    values: tuple[float, ...]
    rows: Rows
    log_ratios: Array
    slopes: Array
    loss: float
    is_converged: bool


def fit(problem: Problem, rows: Sequence[int] | None = None) -> Fit:
    """Return the constants with the least loss over `rows` (all of them).

    The search begins where a coarse scan finds least.
    """
    chosen = np.arange(len(problem.weights)) if rows is None else np.asarray(rows, dtype=np.int64)
    model = _Model.of(problem, chosen)
    at = np.clip(np.log(scan(problem, chosen)), model.low, model.high)
    ratios = problem.log_ratios(_values(at), chosen.tolist())
    loss, radius = model.loss(ratios, at), _FIRST_RADIUS
    near, is_fresh = _slopes(problem, chosen, at, ratios, model.high), True
    for _ in range(_MOST_ROUNDS):
        step = model.step(near, ratios, at, radius)
        there = problem.log_ratios(_values(at + step), chosen.tolist())
        gain = loss - model.loss(there, at + step)
        hoped = loss - model.loss(ratios + near @ step, at + step)
        if float(step @ step) > 0:  # what the step shows of the slopes (Broyden, 1965)
            near = near + np.outer(there - ratios - near @ step, step) / float(step @ step)
        if gain > 0:
            at, ratios, loss = at + step, there, loss - gain
            radius = min(2 * radius, _MOST_RADIUS) if gain > hoped / 2 else radius
        else:
            radius /= 3
        if gain < _LEAST_GAIN:
            if is_fresh:
                if radius <= _LEAST_RADIUS or gain >= 0 or hoped < _LEAST_GAIN:
                    return Fit(_values(at), chosen, ratios, near, loss, is_converged=True)
                continue
            near, is_fresh = _slopes(problem, chosen, at, ratios, model.high), True
            radius = max(radius, 0.1)
        else:
            is_fresh = False
    return Fit(_values(at), chosen, ratios, near, loss, is_converged=False)


def scan(problem: Problem, rows: Rows) -> list[float]:
    """Return values from which a search finds the least: the best of a few for each constant in turn.

    Some of the rows tell enough. A constant may act above a threshold only, where a search from below sees
    no slope.
    """
    some = rows[:: max(1, len(rows) // _SCANNED_ROWS)]
    model = _Model.of(problem, some)
    at = model.start.copy()
    ratios = problem.log_ratios(_values(at), some.tolist())
    for number, constant in enumerate(problem.constants):
        places = np.flatnonzero(np.isin(some, constant.rows))
        best = model.loss(ratios, at)
        for value in np.linspace(model.low[number], model.high[number], _SCANNED_VALUES):
            moved, changed = at.copy(), ratios.copy()
            moved[number] = value
            changed[places] = problem.log_ratios(_values(moved), some[places].tolist())
            if (loss := model.loss(changed, moved)) < best:
                best, at, ratios = loss, moved, changed
    return list(_values(at))


def uncertainties(problem: Problem, found: Fit, groups: Sequence[object]) -> list[float]:
    """Return the standard uncertainty of each fitted constant as a share of its value.

    A bootstrap over `groups` (a label a row of `problem`; rows of one have errors in common), in the linear
    model around the fit and with a fixed seed (Efron, 1979). Infinite for one group.
    """
    labels = [groups[row] for row in found.rows]
    number_of = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    if len(number_of) < 2:
        return [math.inf] * len(problem.constants)
    numbers = np.array([number_of[label] for label in labels])
    random = np.random.default_rng(0)
    at = np.log(found.values)
    model = _Model.of(problem, found.rows)
    moves = []
    for _ in range(_RESAMPLES):
        drawn = random.integers(0, len(number_of), len(number_of))
        counts = np.bincount(drawn, minlength=len(number_of))[numbers]
        resampled = model.weights * counts
        resampled /= resampled.sum()
        moves.append(replace(model, weights=resampled).step(found.slopes, found.log_ratios, at, math.inf))
    shares: list[float] = np.std(moves, axis=0).tolist()
    return shares


def left_out(problem: Problem, found: Fit, held: Sequence[int]) -> Array:
    """Return log(predicted / measured) of the rows `held`, with constants fitted to the others.

    Only constants on which `held` depend are fitted again, with a search of their own: the fit to all rows
    would bring along what `held` says of a constant that the others hardly tell.
    """
    others = np.setdiff1d(found.rows, held)
    active = [i for i, each in enumerate(problem.constants) if not set(each.rows).isdisjoint(held)]
    if not active:
        return problem.log_ratios(found.values, list(held))
    related = sorted({row for i in active for row in problem.constants[i].rows} & set(others.tolist()))

    def log_ratios(values: Sequence[float], rows: Sequence[int]) -> Array:
        every = list(found.values)
        for place, value in zip(active, values, strict=True):
            every[place] = value
        return problem.log_ratios(every, rows)

    part = Problem([problem.constants[i] for i in active], problem.weights, log_ratios)
    values = fit(part, related).values if related else [each.start for each in part.constants]
    return log_ratios(values, list(held))


def tolerances(found: Fit) -> list[float]:
    """Return what share of the effect of each constant on the rows no mix of the others could have.

    0 for one that the others can stand in for, or that no row depends on; 1 for one that acts on its own.
    """
    shares = []
    for number, column in enumerate(found.slopes.T):
        total = float(column @ column)
        others = np.delete(found.slopes, number, axis=1)
        rest = column - others @ np.linalg.lstsq(others, column, rcond=1e-9)[0]
        shares.append(float(rest @ rest) / total if total > 0 else 0.0)
    return shares


@dataclass(frozen=True)
class _Model:
    """Weights of the rows, bounds, start and pull of the constants, as arrays of logarithms."""

    weights: Array
    low: Array
    high: Array
    start: Array
    pull: Array

    @classmethod
    def of(cls, problem: Problem, rows: Rows) -> _Model:
        weights = problem.weights[rows] / problem.weights[rows].sum()
        weight_of = np.zeros(len(problem.weights))
        weight_of[rows] = weights
        constants = problem.constants
        return cls(
            weights,
            low=np.log([each.low for each in constants]),
            high=np.log([each.high for each in constants]),
            start=np.log([each.start for each in constants]),
            pull=np.array([each.pull * weight_of[list(each.rows)].sum() for each in constants]),
        )

    def loss(self, ratios: Array, at: Array) -> float:
        sizes = np.sqrt(ratios**2 + SOFT**2) - SOFT
        return float(self.weights @ sizes + self.pull @ (at - self.start) ** 2)

    def step(self, slopes: Array, ratios: Array, at: Array, radius: float) -> Array:
        """Return where the loss is least if `ratios` are linear, within bounds and `radius`."""
        low, high = np.maximum(self.low - at, -radius), np.minimum(self.high - at, radius)
        step = np.zeros(len(at))
        for _ in range(30):
            shares = self.weights / np.sqrt((ratios + slopes @ step) ** 2 + SOFT**2)
            curvature = slopes.T @ (shares[:, None] * slopes) + np.diag(2 * self.pull)
            slope = slopes.T @ (shares * ratios) + 2 * self.pull * (at - self.start)
            before, step = step, least_in_box(curvature, slope, low, high, step)
            if float(np.abs(step - before).max(initial=0.0)) < 1e-6:
                break
        return step


def least_in_box(curvature: Array, slope: Array, low: Array, high: Array, first: Array) -> Array:
    """Return the least of x·C·x / 2 + s·x between bounds, C positive semidefinite, by sets of coordinates.

    Each round solves for those between their bounds, and goes there until one more meets its bound
    (Nocedal and Wright, Numerical Optimization, 2006, section 16.5).
    """
    x = np.clip(first, low, high)
    can_move = np.diag(curvature) > 0
    held = can_move & ((x <= low) | (x >= high))
    for _ in range(_MOST_SETS):
        free = np.flatnonzero(can_move & ~held)
        gradient = slope + curvature @ x
        way = np.zeros(len(x))
        way[free] = -np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        bound = np.where(way > 0, high, low)
        room = np.divide(bound - x, way, out=np.full(len(x), np.inf), where=way != 0)
        share = room.min(initial=1.0)
        x = np.where(room <= share, bound, x + share * way)
        if share < 1:
            held |= room <= share
            continue
        gradient = slope + curvature @ x
        wrong = held & np.where(x <= low, gradient < 0, gradient > 0) & (low < high)
        if not wrong.any():
            break
        held &= ~wrong
    return x


def _slopes(problem: Problem, rows: Rows, at: Array, ratios: Array, high: Array) -> Array:
    slopes = np.zeros((len(rows), len(at)))
    for number, constant in enumerate(problem.constants):
        places = np.flatnonzero(np.isin(rows, constant.rows))
        if not len(places):
            continue
        moved = at.copy()
        change = _DIFFERENCE if at[number] + _DIFFERENCE <= high[number] else -_DIFFERENCE
        moved[number] += change
        there = problem.log_ratios(_values(moved), rows[places].tolist())
        slopes[places, number] = (there - ratios[places]) / change
    return slopes


def _values(at: Array) -> tuple[float, ...]:
    return tuple(math.exp(x) for x in at)
