"""Rules that make a strategy infeasible for a model, and sizes that merely do not divide."""

from __future__ import annotations

from typing import Literal, NamedTuple

from dse.base.errors import InputError, did_you_mean
from dse.inputs.models import ModelSpec
from dse.inputs.strategies.axes import StrategyAxis
from dse.inputs.strategies.strategy import AXES, DEGREES, Strategy, strategy_values

Divisibility = Literal["stage", "whole", "strict"]
"""What happens to sizes that do not divide: `stage` cuts all shards, `whole` only those that a program would
pad, and `strict` none; what is not cut is infeasible."""


class InfeasibleStrategy(InputError):  # noqa: N818 (a status of results, not only an error)
    """No workload exists for this model and strategy; a sweep makes it a row of status `infeasible`."""


_PLANS = "; for a cluster of several types of GPUs, dse plan finds stages that differ"


def check(model: ModelSpec, strategy: Strategy) -> None:
    """Refuse what is refused under every `workload.divisibility` (docs/workload.md).

    Raises:
        InfeasibleStrategy: a degree below 1, an axis that only predictions know, or more pipeline stages than
            blocks (layers and two embeddings).
    """
    for axis in DEGREES:
        degree = getattr(strategy, axis)
        if degree < 1:
            raise InfeasibleStrategy(f"strategy.{axis} is {degree}; it must be at least 1")
    if beyond := strategy.beyond_traces():
        raise InfeasibleStrategy(
            f"{', '.join([f'strategy.{name}={getattr(strategy, name)}' for name in beyond])}: only the "
            "predictor knows that: use the system of a cluster, such as system=dgx_h100, and "
            f"model.fidelity=realistic{_PLANS if 'stages' in beyond else ''}"
        )
    if model.resolved_repairs.contiguous_stages and strategy.pp > model.num_layers:
        raise InfeasibleStrategy(
            f"strategy.pp is {strategy.pp}: contiguous stages have at least one layer each, and "
            f"model.num_layers is {model.num_layers}; pp must be at most {model.num_layers}"
        )
    blocks = model.num_layers + 2
    if strategy.pp > blocks:
        raise InfeasibleStrategy(
            f"strategy.pp is {strategy.pp}: more pipeline stages ({strategy.pp}) than blocks ({blocks}: "
            f"{model.num_layers} layers and 2 embeddings), so a stage would own no operator; "
            f"pp must be at most {blocks}"
        )


def check_values(strategy: Strategy) -> None:
    """Refuse values that an axis cannot have.

    Raises:
        InfeasibleStrategy: names the key, what was got and what is allowed.
    """
    for axis, value in zip(AXES, strategy_values(strategy), strict=True):
        if problem := value_problem(axis, value):
            raise InfeasibleStrategy(problem)


def value_problem(axis: StrategyAxis, value: object) -> str:
    """Say why an axis cannot have a value; empty where it can."""
    if (value == axis.default and type(value) is axis.type) or axis.accepts(value):
        return ""
    hint = did_you_mean(str(value), axis.names)
    return f"strategy.{axis.name} is {value!r}; it must be {axis.allowed()}{hint}"


def resolved_divisibility(model: ModelSpec, chosen: Divisibility | None) -> Divisibility:
    """Return what was chosen, or the default of the model's fidelity."""
    return chosen or ("whole" if model.fidelity == "realistic" else "stage")


def require_divisible(model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> None:
    """Refuse a strategy for which no workload exists, or which `divisibility` excludes.

    Raises:
        InfeasibleStrategy: says which rule, and the nearest sizes that divide.
    """
    check(model, strategy)
    if divisibility == "stage":
        return
    whole = [*broken_units(model, strategy), *uneven_stages(model, strategy)]
    if divisibility == "whole" and whole:
        raise InfeasibleStrategy(
            f"workload.divisibility=whole, the default of model.fidelity=realistic: {'; '.join(whole)}; "
            "workload.divisibility=stage evaluates it nevertheless, with cut shards"
        )
    broken = [*indivisible(model, strategy), *uneven_stages(model, strategy)]
    if divisibility == "strict" and broken:
        raise InfeasibleStrategy(
            f"workload.divisibility=strict: {'; '.join(broken)}; workload.divisibility=stage cuts the shards"
        )


def is_feasible(model: ModelSpec, strategy: Strategy, divisibility: Divisibility) -> bool:
    """Whether `require_divisible` accepts the strategy."""
    try:
        require_divisible(model, strategy, divisibility)
    except InfeasibleStrategy:
        return False
    return True


def indivisible(model: ModelSpec, strategy: Strategy) -> list[str]:
    """Return a reason for each condition of divisibility that fails; none means that all shards are whole.

    The conditions are those of docs/workload.md. With heads that do not divide d_model,
    FSDP's "sp divides d_model/num_heads" is not reported on top of it. The strategy must pass `check`.
    """
    return [*broken_units(model, strategy), *padded_widths(model, strategy)]


def broken_units(model: ModelSpec, strategy: Strategy) -> list[str]:
    """Return those of `indivisible` that break what no program can split: a sequence, a token or a head."""
    tp = strategy.tp
    conditions = [
        _batch_condition(model, strategy),
        _Condition("sp", strategy.sp, "seq_len", model.seq_len),
        _Condition("tp", tp, "num_heads", model.num_heads),
        _Condition("num_heads", model.num_heads, "d_model", model.d_model),
    ]
    if model.shown_kv_heads != model.num_heads:
        conditions.append(_Condition("tp", tp, "num_kv_heads", model.shown_kv_heads))
    return _reasons(conditions)


def padded_widths(model: ModelSpec, strategy: Strategy) -> list[str]:
    """Return those of `indivisible` that cut the width of a matrix: programs pad it, by less than one row."""
    dp, tp, sp = strategy.dp, strategy.tp, strategy.sp
    conditions = [
        _Condition("tp", tp, "d_ff", model.d_ff),
        _Condition("tp", tp, "input_dim", model.input_dim),
        _Condition("tp", tp, "output_dim", model.output_dim),
    ]
    if strategy.weight_sharded:
        conditions += [
            _Condition("dp*sp", dp * sp, "input_dim", model.input_dim),
            _Condition("dp*sp", dp * sp, "d_model", model.d_model),
            _Condition("dp", dp, "d_model", model.d_model),
        ]
        if model.d_model % model.num_heads == 0:
            conditions.append(_Condition("sp", sp, "d_model/num_heads", model.d_model // model.num_heads))
    return _reasons(conditions)


def uneven_stages(model: ModelSpec, strategy: Strategy) -> list[str]:
    """Return a reason if contiguous stages of a realistic model differ in their layers; none is cut then."""
    if model.fidelity != "realistic" or not model.resolved_repairs.contiguous_stages:
        return []
    return _reasons([_Condition("pp", strategy.pp, "num_layers", model.num_layers)])


class _Condition(NamedTuple):
    divisor_name: str
    divisor: int
    size_name: str
    size: int


def _reasons(conditions: list[_Condition]) -> list[str]:
    return [
        f"{divisor_name} {divisor} does not divide {size_name} {size} "
        f"(nearest multiples of {divisor}: {_nearest_multiples(divisor, size)})"
        for divisor_name, divisor, size_name, size in conditions
        if size % divisor
    ]


def _batch_condition(model: ModelSpec, strategy: Strategy) -> _Condition:
    dp, count = strategy.dp, model.micro_batches_on(strategy.dp, strategy.pp)
    if count == 1:
        return _Condition("dp", dp, "batch_size", model.batch_size)
    return _Condition("dp*micro_batches", dp * count, "batch_size", model.batch_size)


def _nearest_multiples(divisor: int, size: int) -> str:
    below = size // divisor * divisor
    return f"{below}, {below + divisor}" if below else f"{divisor}"
