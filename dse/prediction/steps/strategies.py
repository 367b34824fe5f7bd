"""A strategy as a plan: what it leaves open is filled in, and what has no effect is refused."""

from __future__ import annotations

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import STRATEGY_FIELDS, InfeasibleStrategy, Strategy, check_values, strategy_values
from dse.inputs.strategies.schedules import schedule_named
from dse.prediction.steps.plan import Plan

_RECOMPUTED = ("selective", "full")


def plan_of(model: ModelSpec, strategy: Strategy) -> Plan:
    """Return the plan of a strategy for a model.

    `activation_recompute` recomputes what `model.repairs.recompute` says. `micro_batch` 0 is the batch of a
    data-parallel rank over `model.micro_batches`, or 1 without these.

    Raises:
        InfeasibleStrategy: a value that no axis has, or one that has no effect with the others.
    """
    check_values(strategy)
    _refuse_idle(strategy)
    values = dict(zip(STRATEGY_FIELDS, strategy_values(strategy), strict=True))
    values["chunks"] = schedule_named(strategy.schedule).chunks or strategy.chunks
    values["micro_batch"] = micro_batch(model, strategy)
    values["recompute"] = _recompute(model, strategy)
    values["activation_recompute"] = False
    return Plan(**values)


def micro_batch(model: ModelSpec, strategy: Strategy) -> int:
    """Return the sequences of a micro-batch of a data-parallel rank.

    Raises:
        InfeasibleStrategy: the number of micro-batches that the model asks for does not come out.
    """
    count, given = model.micro_batches, strategy.micro_batch
    if count is None:
        return given or 1
    size, rest = divmod(model.batch_size, strategy.dp * count)
    if rest:
        raise InfeasibleStrategy(
            f"dp*micro_batches {strategy.dp * count} does not divide batch_size {model.batch_size}"
        )
    if given not in (0, size):
        raise InfeasibleStrategy(
            f"strategy.micro_batch is {given}, but model.micro_batches={count} makes it {size}: "
            "leave one of them out"
        )
    return size


def _recompute(model: ModelSpec, strategy: Strategy) -> str:
    if not strategy.activation_recompute:
        return strategy.recompute
    if strategy.recompute != "none":
        raise InfeasibleStrategy(
            f"strategy.recompute is {strategy.recompute}, and strategy.activation_recompute says it too: "
            "leave out the latter"
        )
    kind = model.resolved_repairs.recompute
    if kind not in _RECOMPUTED:
        raise InfeasibleStrategy(
            f"model.repairs.recompute is {kind}, which no framework does: write strategy.recompute=selective "
            "or full instead of strategy.activation_recompute"
        )
    return str(kind)


def _refuse_idle(strategy: Strategy) -> None:
    """Refuse what only STAGE knows, and what says nothing in addition to the other values."""
    if strategy.sp > 1:
        raise InfeasibleStrategy(
            f"strategy.sp is {strategy.sp}, which is STAGE's sequence parallelism; write strategy.cp="
            f"{strategy.sp} for context parallelism, or strategy.sequence_parallel=true for that of Megatron"
        )
    idle = ""
    if strategy.weight_sharded and strategy.zero != 1:
        idle = f"zero={strategy.zero}: with weight_sharded it is 3"
    elif strategy.shard_ranks and not strategy.weight_sharded:
        idle = f"shard_ranks={strategy.shard_ranks}: weights are not sharded"
    elif strategy.chunks > 1 and (fixed := schedule_named(strategy.schedule).chunks):
        count = "one" if fixed == 1 else fixed
        idle = f"chunks={strategy.chunks}: schedule={strategy.schedule} has {count}"
    elif strategy.pp == 1 and strategy.schedule != "1f1b":
        idle = f"schedule={strategy.schedule}: pp is 1"
    elif strategy.pp == 1 and strategy.stages != "even":
        idle = f"stages={strategy.stages}: pp is 1"
    elif strategy.tp == 1 and (strategy.sequence_parallel or strategy.overlap_tp):
        idle = f"{'sequence_parallel' if strategy.sequence_parallel else 'overlap_tp'}=true: tp is 1"
    elif strategy.cp == 1 and strategy.context != "ring":
        idle = f"context={strategy.context}: cp is 1"
    elif strategy.recompute_layers and strategy.recompute == "none" and not strategy.activation_recompute:
        idle = f"recompute_layers={strategy.recompute_layers}: nothing is recomputed"
    if idle:
        raise InfeasibleStrategy(f"nothing follows from strategy.{idle}")
