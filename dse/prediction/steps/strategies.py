"""Strategies as plans: what they leave open is filled in, and what has no effect is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, InfeasibleStrategy, Strategy, value_problem
from dse.inputs.strategies.columns import Strategies
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.plan_rules import FILLED, REFUSALS


@dataclass
class Refusals:
    """Why some of `count` strategies cannot run: the number of the text in `reasons`; -1 where they can."""

    count: int
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse none."""
        self.reason_of = np.full(self.count, -1, np.int32)

    def refuse(
        self, strategies: Strategies, names: Sequence[str], say: Callable[..., str], **given: Any
    ) -> None:
        """Refuse those that nothing has refused, and of whose values of some axes something is said."""
        said, kinds = strategies.asked(names, say, **given)
        if not any(said):
            return
        left = np.bincount(kinds[self.reason_of < 0], minlength=len(said))
        numbers = np.full(len(said), -1, np.int32)
        for place, text in enumerate(said):
            if text and left[place]:
                numbers[place] = len(self.reasons)
                self.reasons.append(text)
        self.reason_of = np.where(self.reason_of < 0, numbers[kinds], self.reason_of)

    def refuse_rest(self, reason_of: NDArray[np.int32], reasons: Sequence[str]) -> None:
        """Take what somebody says of those that nothing has refused, in their order."""
        shifted = np.where(reason_of < 0, -1, reason_of + np.int32(len(self.reasons)))
        self.reason_of[self.reason_of < 0] = shifted
        self.reasons += reasons


class Plans(NamedTuple):
    """Strategies as plans: arrays, or single values, of the fields in which plans differ from strategies."""

    strategies: Strategies
    filled: dict[str, Any]

    def column(self, name: str) -> Any:
        """Return a field of the plans: an array, or the value that all have."""
        return self.filled[name] if name in self.filled else self.strategies.column(name)

    def take(self, which: NDArray[Any]) -> Plans:
        """Return some of the plans."""
        some = {name: column[which] if np.ndim(column) else column for name, column in self.filled.items()}
        return Plans(self.strategies.take(which), some)

    def each(self) -> Iterator[Plan]:
        """Return the plans one by one."""
        count = len(self.strategies)
        names = [*self.filled, *(name for name in STRATEGY_FIELDS if name not in self.filled)]
        columns = [np.broadcast_to(np.asarray(self.column(name)), count).tolist() for name in names]
        return (Plan(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True))


def plan_of(model: ModelSpec, strategy: Strategy) -> Plan:
    """Return the plan of a strategy for a model.

    Raises:
        InfeasibleStrategy: as `plans_of` refuses it.
    """
    refused = Refusals(1)
    plans = plans_of(model, Strategies.of([strategy]), refused)
    if refused.reasons:
        raise InfeasibleStrategy(refused.reasons[0])
    return next(plans.each())


def plans_of(model: ModelSpec, strategies: Strategies, refused: Refusals) -> Plans:
    """Return the plans of those strategies for a model that are not refused, in their order.

    `activation_recompute` recomputes what `model.repairs.recompute` says. `micro_batch` 0 is the batch of a
    data-parallel rank over `model.micro_batches`, or 1 without these. Refused are values that no axis has,
    and those that have no effect with the others.
    """
    _refuse_values(strategies, refused)
    known = strategies.take(refused.reason_of < 0)
    idle = Refusals(len(known))
    for names, say in REFUSALS:
        idle.refuse(known, names, say, model=model)
    filled = {}
    for name, rule in FILLED.items():
        found, kinds = known.asked(*rule, model=model)
        filled[name] = np.array(found)[kinds]
    refused.refuse_rest(idle.reason_of, idle.reasons)
    return Plans(known, filled).take(idle.reason_of < 0)


def _refuse_values(strategies: Strategies, refused: Refusals) -> None:
    for axis in AXES:
        if any(value_problem(axis, value) for value in strategies.values[axis.name]):
            refused.refuse(strategies, [axis.name], partial(value_problem, axis))
