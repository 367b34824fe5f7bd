"""Rules that make plans of strategies, each a function of the values that it reads; pages have them, too.

A parameter is an axis of a strategy, or the model. Whoever has many strategies asks a rule once for each
combination of values that it reads (`Strategies.asked`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from dse.inputs.models import ModelSpec
from dse.inputs.strategies.schedules import SCHEDULES, schedule_named

_RECOMPUTED = ("selective", "full")


class Rule(NamedTuple):
    """A function, and the names of its parameters."""

    names: tuple[str, ...]
    say: Callable[..., Any]


def rule(say: Callable[..., Any]) -> Rule:
    """Return a function as a rule."""
    return Rule(tuple(inspect.signature(say).parameters), say)


class _FixedChunks(Mapping[str, int]):
    """How many chunks a schedule has, also one of another package; 0 where a strategy says it."""

    def __getitem__(self, name: str) -> int:
        return schedule_named(name).chunks or 0

    def __iter__(self) -> Iterator[str]:
        return iter(SCHEDULES)

    def __len__(self) -> int:
        return len(SCHEDULES)


_FIXED_CHUNKS = _FixedChunks()


def _sequence_parallelism(sp: int) -> str:
    if sp == 1:
        return ""
    return (
        f"strategy.sp is {sp}, which is STAGE's sequence parallelism; write strategy.cp={sp} for context "
        "parallelism, or strategy.sequence_parallel=true for that of Megatron"
    )


def _idle(is_idle: bool, said: str) -> str:
    return f"nothing follows from strategy.{said}" if is_idle else ""


def _zero(weight_sharded: bool, zero: int) -> str:
    return _idle(weight_sharded and zero != 1, f"zero={zero}: with weight_sharded it is 3")


def _shard_ranks(weight_sharded: bool, shard_ranks: int) -> str:
    return _idle(
        not weight_sharded and shard_ranks > 0, f"shard_ranks={shard_ranks}: weights are not sharded"
    )


def _idle_chunks(schedule: str, chunks: int) -> str:
    fixed = _FIXED_CHUNKS.get(schedule, 0)
    count = "one" if fixed == 1 else fixed
    return _idle(chunks > 1 and fixed > 0, f"chunks={chunks}: schedule={schedule} has {count}")


def _schedule(pp: int, schedule: str) -> str:
    return _idle(pp == 1 and schedule != "1f1b", f"schedule={schedule}: pp is 1")


def _stages(pp: int, stages: str) -> str:
    return _idle(pp == 1 and stages != "even", f"stages={stages}: pp is 1")


def _options_of_tp(tp: int, sequence_parallel: bool, overlap_tp: bool) -> str:
    name = "sequence_parallel" if sequence_parallel else "overlap_tp"
    return _idle(tp == 1 and (sequence_parallel or overlap_tp), f"{name}=true: tp is 1")


def _context(cp: int, context: str) -> str:
    return _idle(cp == 1 and context != "ring", f"context={context}: cp is 1")


def _recompute_layers(recompute_layers: int, recompute: str, activation_recompute: bool) -> str:
    is_idle = recompute_layers > 0 and recompute == "none" and not activation_recompute
    return _idle(is_idle, f"recompute_layers={recompute_layers}: nothing is recomputed")


def _whole_batch(model: ModelSpec, dp: int) -> str:
    count = model.micro_batches
    if count is None or model.batch_size % (dp * count) == 0:
        return ""
    return f"dp*micro_batches {dp * count} does not divide batch_size {model.batch_size}"


def _given_micro_batch(model: ModelSpec, dp: int, micro_batch: int) -> str:
    count, size = model.micro_batches, _micro_batch(model, dp, micro_batch)
    if count is None or micro_batch in (0, size):
        return ""
    return (
        f"strategy.micro_batch is {micro_batch}, but model.micro_batches={count} makes it {size}: leave one "
        "of them out"
    )


def _recompute_twice(recompute: str, activation_recompute: bool) -> str:
    if recompute == "none" or not activation_recompute:
        return ""
    return (
        f"strategy.recompute is {recompute}, and strategy.activation_recompute says it too: leave out the "
        "latter"
    )


def _recompute_of_model(model: ModelSpec, activation_recompute: bool) -> str:
    kind = model.resolved_repairs.recompute
    if kind in _RECOMPUTED or not activation_recompute:
        return ""
    return (
        f"model.repairs.recompute is {kind}, which no framework does: write strategy.recompute=selective or "
        "full instead of strategy.activation_recompute"
    )


_SAYING: tuple[Callable[..., str], ...] = (
    *(_sequence_parallelism, _zero, _shard_ranks, _idle_chunks, _schedule, _stages, _options_of_tp),
    *(_context, _recompute_layers, _whole_batch, _given_micro_batch, _recompute_twice, _recompute_of_model),
)
REFUSALS = tuple([rule(each) for each in _SAYING])
"""Why a strategy is no plan, or ""; the first that says something counts."""


def _chunks(schedule: str, chunks: int) -> int:
    return _FIXED_CHUNKS.get(schedule, 0) or chunks


def _micro_batch(model: ModelSpec, dp: int, micro_batch: int) -> int:
    count = model.micro_batches
    return (micro_batch or 1) if count is None else model.batch_size // (dp * count)


def _recompute(model: ModelSpec, recompute: str, activation_recompute: bool) -> str:
    return str(model.resolved_repairs.recompute) if activation_recompute else recompute


def _activation_recompute() -> bool:
    return False


FILLED = {
    "chunks": rule(_chunks),
    "micro_batch": rule(_micro_batch),
    "recompute": rule(_recompute),
    "activation_recompute": rule(_activation_recompute),
}
"""The fields in which a plan differs from its strategy."""
