"""Constraints: the strategies that satisfy them for a model and system, and what each constraint removes."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.base.errors import InputError
from dse.base.expressions import Expression
from dse.base.lazy import NDArray, np
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import DEGREES, OPTIONS, Strategy
from dse.inputs.systems import SystemSpec
from dse.studies.space.degrees import Axes, degree_combinations, is_open
from dse.studies.space.names import TEXTS, FieldNames, Reader, explain, reader, strategy_field

if TYPE_CHECKING:
    from dse.inputs.strategies.columns import Strategies

_KEPT_LISTS = 64
_NAMES = FieldNames()


class Constraints:
    """Selects strategies, scenario by scenario, and counts.

    The list of strategies depends on a scenario only through the values that constraints read of it: few
    lists serve many scenarios.

    `combinations` and `points` count over all scenarios so far. `launchable` is a framework that must be able
    to run the strategies; `unlaunchable` counts those that it cannot, and `obstacle` says why it cannot run
    the first of them.

    Raises:
        InputError: a constraint outside the language.
    """

    def __init__(self, axes: Axes, constraints: Sequence[str], launchable: str = "") -> None:
        """Parse the constraints."""
        self._axes = axes
        self._launchable = launchable
        self.unlaunchable = 0
        self.obstacle = ""
        self._is_open = is_open(axes)
        self._all = [
            Expression(text, _NAMES, f"space.constraints.{index}", explain, TEXTS)
            for index, text in enumerate(constraints)
        ]
        on_strategy = [any(map(strategy_field, expression.names_used)) for expression in self._all]
        self._of_scenario = [e for e, uses in zip(self._all, on_strategy, strict=True) if not uses]
        self._of_strategy = [e for e, uses in zip(self._all, on_strategy, strict=True) if uses]
        self._of_strategy = [e for asked in self._by_depth(OPTIONS) for e in asked]
        self._scenario_readers = _readers(self._of_scenario)
        self._readers = _readers(self._of_strategy)
        self._removed = dict.fromkeys(self._all, 0)
        self._select = functools.lru_cache(maxsize=_KEPT_LISTS)(self._selected)
        self._size = functools.lru_cache(maxsize=_KEPT_LISTS)(self._counted)
        self.scenarios = 0
        self.combinations = 0
        self.points = 0

    def strategies(self, model: ModelSpec, system: SystemSpec) -> Sequence[Strategy]:
        """Return the strategies for a model and a system, first axis (dp) slowest.

        Raises:
            InputError: a constraint cannot be evaluated.
        """
        npus = system.npus if self._is_open else 0
        size = self._size(npus)
        self.scenarios += 1
        self.combinations += size
        values = {name: read(model, system) for name, read in self._scenario_readers.items()}
        for expression in self._of_scenario:
            if not expression.holds(values):
                self._removed[expression] += size
                return ()
        strategies, removed = self._select(npus, *[read(model, system) for read in self._readers.values()])
        for expression, count in zip(self._of_strategy, removed, strict=True):
            self._removed[expression] += count
        if self._launchable:
            found, obstacle = launched(strategies, model, self._launchable)
            self.obstacle = self.obstacle or obstacle
            self.unlaunchable += len(strategies) - int(found.sum())
            strategies = strategies.take(found)
        self.points += len(strategies)
        return strategies

    def removed(self) -> list[tuple[Expression, int]]:
        """Return how many combinations each constraint removed, in the order of the constraints."""
        return list(self._removed.items())

    def removed_in_order(self) -> list[tuple[Expression, int]]:
        """Return the same in the order of evaluation."""
        return [(each, self._removed[each]) for each in (*self._of_scenario, *self._of_strategy)]

    def of_inputs(self) -> list[Expression]:
        """Return the constraints that read a field of the model or system besides the number of NPUs."""
        return [
            expression
            for expression in self._all
            if any(not strategy_field(name) and name != "npus" for name in expression.names_used)
        ]

    def _counted(self, npus: int) -> int:
        if self._is_open:
            options = math.prod([len(self._axes[name] or ()) for name in OPTIONS])
            return options * sum(1 for _ in degree_combinations(self._axes, npus))
        return math.prod([len(values or ()) for values in self._axes.values()])

    def _selected(self, npus: int, *of_scenario: float) -> tuple[Strategies, tuple[int, ...]]:
        """Return the strategies, and how many each constraint removes, for values of `self._readers`.

        Axes besides the degrees get their values one after the other, and a constraint is asked as soon as
        all of its axes have one: what it removes then is never enumerated.
        """
        values: dict[str, Any] = dict(zip(self._readers, of_scenario, strict=True))
        removed = dict.fromkeys(self._of_strategy, 0)
        varied = [name for name in OPTIONS if len(self._axes[name] or ()) != 1]
        fixed = {name: listed for name in OPTIONS if name not in varied and (listed := self._axes[name])}
        found = _of_degrees(list(degree_combinations(self._axes, npus)), fixed)
        for depth, asked in enumerate(self._by_depth(varied)):
            if depth:
                found = found.crossed(varied[depth - 1], self._axes[varied[depth - 1]] or ())
            below = math.prod([len(self._axes[name] or ()) for name in varied[depth:]])
            for expression in asked:
                kept = _holding(expression, found, values)
                removed[expression] += below * int((~kept).sum())
                found = found.take(kept)
        return found, tuple(removed.values())

    def _by_depth(self, varied: Sequence[str]) -> list[list[Expression]]:
        """The constraints that can be asked once none, the first, the first two … of the axes have values."""
        asked: list[list[Expression]] = [[] for _ in range(len(varied) + 1)]
        for expression in self._of_strategy:
            fields = {strategy_field(name) for name in expression.names_used}
            depths = [depth for depth, field in enumerate(varied, 1) if field in fields]
            asked[max(depths, default=0)].append(expression)
        return asked


def launched(strategies: Strategies, model: ModelSpec, framework: str) -> tuple[NDArray[np.bool_], str]:
    """Return for which strategies a framework can run a model, and why it cannot run the first of the others.

    Its rules judge them one by one.
    """
    from dse.prediction.frameworks.checks.changes import is_legal, obstacles
    from dse.prediction.frameworks.dialect import dialect_named
    from dse.prediction.frameworks.job import Job
    from dse.prediction.frameworks.launches import as_run_by
    from dse.prediction.steps.strategies import Refusals, plans_of

    dialect, refused = dialect_named(framework), Refusals(len(strategies))
    plans = plans_of(model, strategies, refused)
    found = refused.reason_of < 0
    jobs = [as_run_by(Job(model, plan), dialect) for plan in plans.each()]
    legal = [is_legal(job, dialect) for job in jobs]
    found[found] = legal
    first = next((job for job, is_one in zip(jobs, legal, strict=True) if not is_one), None)
    if first is None:
        return found, next(iter(refused.reasons), "")
    return found, f"{first.plan.label()}: {'; '.join(obstacles(first, dialect))}"


def _of_degrees(combinations: Sequence[tuple[int, ...]], others: Mapping[str, Sequence[Any]]) -> Strategies:
    """Return strategies with these degrees and single values of the other axes."""
    from dse.inputs.strategies.columns import Strategies

    values, codes = dict(others), {}
    for name, column in zip(DEGREES, zip(*combinations, strict=True), strict=False):
        values[name] = list(dict.fromkeys(column))
        places = {degree: place for place, degree in enumerate(values[name])}
        codes[name] = np.array([places[degree] for degree in column], np.min_scalar_type(len(places)))
    return Strategies(values, codes, len(combinations))


def _holding(expression: Expression, strategies: Strategies, values: dict[str, Any]) -> NDArray[np.bool_]:
    """Return for which strategies a constraint holds: it is asked once for each combination that it sees."""
    fields = {name: field for name in expression.names_used if (field := strategy_field(name))}
    firsts, kinds = strategies.kinds(list(fields.values()))
    held = []
    for place in firsts.tolist():
        values.update({name: strategies.value(field, place) for name, field in fields.items()})
        try:
            held.append(expression.holds(values))
        except InputError as problem:
            raise _said_of_zero(expression, fields, values) or problem from None
    return np.array(held, bool)[kinds]


def _said_of_zero(
    expression: Expression, fields: Mapping[str, str], values: Mapping[str, Any]
) -> InputError | None:
    """Return the error of an axis whose 0 stands for another input; None where 1 would not help."""
    zeros = [name for name in fields if type(values[name]) is int and values[name] == 0]
    try:
        expression.holds({**values, **dict.fromkeys(zeros, 1)})
    except InputError:
        return None
    key = f"space.{fields[zeros[0]]}"
    return InputError(
        f"{key} has the value 0, with which {expression.key} '{expression.text}' cannot be evaluated; "
        f"list values from 1, such as {key}=[1,2]"
    )


def _readers(expressions: Sequence[Expression]) -> dict[str, Reader]:
    names = {name: each.key for each in expressions for name in each.names_used if not strategy_field(name)}
    return {name: reader(name, key) for name, key in names.items()}
