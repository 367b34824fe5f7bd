"""Strategies as plans: what they leave open is filled in, and what has no effect is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, InfeasibleStrategy, Strategy, value_problem
from dse.inputs.strategies.columns import Strategies
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.plan import Plan

_RECOMPUTED = ("selective", "full")


@dataclass
class Refusals:
    """Why some of `count` strategies cannot run: the number of the text in `reasons`; -1 where they can."""

    count: int
    reasons: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse none."""
        self.reason_of = np.full(self.count, -1, np.int32)

    def refuse(
        self, strategies: Strategies, where: Any, names: Sequence[str], say: Callable[[Strategy], str]
    ) -> None:
        """Refuse those that nothing has refused, for reasons that depend on some axes only."""
        places = np.flatnonzero(np.broadcast_to(where, (self.count,)) & (self.reason_of < 0))
        if not len(places):
            return
        some = strategies.take(places)
        firsts, kinds = some.kinds(names)
        numbers = []
        for first in firsts.tolist():
            numbers.append(len(self.reasons))
            self.reasons.append(say(some[first]))
        self.reason_of[places] = np.array(numbers, np.int32)[kinds]

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
    for rule in _RULES:
        idle.refuse(known, rule.holds(known), rule.names, rule.say)
    size = _micro_batch(model, known, idle)
    recompute = _recompute(model, known, idle)
    fixed = _fixed_chunks(known)
    filled = {
        "chunks": np.where(fixed > 0, fixed, known.chunks),
        "micro_batch": size,
        "recompute": recompute,
        "activation_recompute": np.False_,
    }
    refused.refuse_rest(idle.reason_of, idle.reasons)
    return Plans(known, filled).take(idle.reason_of < 0)


def _refuse_values(strategies: Strategies, refused: Refusals) -> None:
    for axis in AXES:
        codes = strategies.codes.get(axis.name, np.zeros(len(strategies), np.int8))
        for place, value in enumerate(strategies.values[axis.name]):
            if problem := value_problem(axis, value):
                refused.refuse(strategies, codes == place, [axis.name], lambda _, said=problem: said)  # type: ignore[misc]


def _micro_batch(model: ModelSpec, strategies: Strategies, refused: Refusals) -> Any:
    """Return the sequences of a micro-batch of a data-parallel rank."""
    count, given = model.micro_batches, strategies.micro_batch
    if count is None:
        return np.where(given == 0, 1, given)
    size, rest = np.divmod(model.batch_size, strategies.dp * count)
    refused.refuse(
        strategies,
        rest > 0,
        ["dp"],
        lambda one: f"dp*micro_batches {one.dp * count} does not divide batch_size {model.batch_size}",
    )
    refused.refuse(
        strategies,
        (given != 0) & (given != size),
        ["dp", "micro_batch"],
        lambda one: (
            f"strategy.micro_batch is {one.micro_batch}, but model.micro_batches={count} makes it "
            f"{model.batch_size // (one.dp * count)}: leave one of them out"
        ),
    )
    return size


def _recompute(model: ModelSpec, strategies: Strategies, refused: Refusals) -> Any:
    """Return what is recomputed, as an axis or the model says it."""
    asked, chosen = strategies.activation_recompute, strategies.recompute
    refused.refuse(
        strategies,
        asked & (chosen != "none"),
        ["recompute"],
        lambda one: (
            f"strategy.recompute is {one.recompute}, and strategy.activation_recompute says it too: "
            "leave out the latter"
        ),
    )
    kind = model.resolved_repairs.recompute
    if kind not in _RECOMPUTED:
        refused.refuse(
            strategies,
            asked,
            [],
            lambda _: (
                f"model.repairs.recompute is {kind}, which no framework does: write strategy.recompute="
                "selective or full instead of strategy.activation_recompute"
            ),
        )
    return np.where(asked, np.array(str(kind), object), chosen)


def _fixed_chunks(strategies: Strategies) -> Any:
    """Return how many chunks a schedule has, 0 where a strategy says it."""
    return strategies.mapped("schedule", lambda name: schedule_named(name).chunks or 0)


class _Rule(NamedTuple):
    """For which strategies a rule refuses, the axes that its message depends on, and the message."""

    holds: Callable[[Any], Any]
    names: tuple[str, ...]
    say: Callable[[Strategy], str]


def _nothing_follows(
    holds: Callable[[Any], Any], names: tuple[str, ...], say: Callable[[Strategy], str]
) -> _Rule:
    return _Rule(holds, names, lambda one: f"nothing follows from strategy.{say(one)}")


def _of_tp(one: Strategy) -> str:
    return f"{'sequence_parallel' if one.sequence_parallel else 'overlap_tp'}=true: tp is 1"


def _chunks_of_schedule(one: Strategy) -> str:
    fixed = schedule_named(one.schedule).chunks
    count = "one" if fixed == 1 else fixed
    return f"chunks={one.chunks}: schedule={one.schedule} has {count}"


# What only STAGE knows, and what says nothing in addition to the other values: the first that holds counts.
_RULES = (
    _Rule(
        lambda of: of.sp > 1,
        ("sp",),
        lambda one: (
            f"strategy.sp is {one.sp}, which is STAGE's sequence parallelism; write strategy.cp="
            f"{one.sp} for context parallelism, or strategy.sequence_parallel=true for that of Megatron"
        ),
    ),
    _nothing_follows(
        lambda of: of.weight_sharded & (of.zero != 1),
        ("zero",),
        lambda one: f"zero={one.zero}: with weight_sharded it is 3",
    ),
    _nothing_follows(
        lambda of: (of.shard_ranks > 0) & (of.weight_sharded ^ True),
        ("shard_ranks",),
        lambda one: f"shard_ranks={one.shard_ranks}: weights are not sharded",
    ),
    _nothing_follows(
        lambda of: (of.chunks > 1) & (_fixed_chunks(of) > 0), ("chunks", "schedule"), _chunks_of_schedule
    ),
    _nothing_follows(
        lambda of: (of.pp == 1) & (of.schedule != "1f1b"),
        ("schedule",),
        lambda one: f"schedule={one.schedule}: pp is 1",
    ),
    _nothing_follows(
        lambda of: (of.pp == 1) & (of.stages != "even"),
        ("stages",),
        lambda one: f"stages={one.stages}: pp is 1",
    ),
    _nothing_follows(
        lambda of: (of.tp == 1) & (of.sequence_parallel | of.overlap_tp),
        ("sequence_parallel",),
        _of_tp,
    ),
    _nothing_follows(
        lambda of: (of.cp == 1) & (of.context != "ring"),
        ("context",),
        lambda one: f"context={one.context}: cp is 1",
    ),
    _nothing_follows(
        lambda of: (of.recompute_layers > 0) & (of.recompute == "none") & (of.activation_recompute ^ True),
        ("recompute_layers",),
        lambda one: f"recompute_layers={one.recompute_layers}: nothing is recomputed",
    ),
)
