"""What makes a strategy infeasible for a model, and what merely does not divide."""

from __future__ import annotations

from dse.errors import InputError
from dse.models import ModelSpec
from dse.strategies.strategy import Strategy


class InfeasibleStrategy(InputError):  # noqa: N818 (a status of results, not only an error)
    """No workload exists for this model and strategy; a sweep makes it a row of status `infeasible`."""


def check(model: ModelSpec, strategy: Strategy) -> None:
    """Refuse what is refused under every `workload.divisibility` (workload specification, section 1).

    Raises:
        InfeasibleStrategy: a degree below 1, or more pipeline stages than blocks (layers and two embeddings).
    """
    for axis in ("dp", "tp", "sp", "pp"):
        degree = getattr(strategy, axis)
        if degree < 1:
            raise InfeasibleStrategy(f"strategy.{axis} is {degree}; it must be at least 1")
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


def indivisible(model: ModelSpec, strategy: Strategy) -> list[str]:
    """Return a reason for each condition of divisibility that fails; none means that all shards are whole.

    The conditions are those of the workload specification, section 1. With heads that do not divide d_model,
    FSDP's "sp divides d_model/num_heads" is not reported on top of it. The strategy must pass `check`.
    """
    dp, tp, sp = strategy.dp, strategy.tp, strategy.sp
    conditions = [
        _batch_condition(model, strategy),
        ("sp", sp, "seq_len", model.seq_len),
        ("tp", tp, "num_heads", model.num_heads),
        ("num_heads", model.num_heads, "d_model", model.d_model),
        ("tp", tp, "d_ff", model.d_ff),
        ("tp", tp, "input_dim", model.input_dim),
        ("tp", tp, "output_dim", model.output_dim),
    ]
    if model.shown_kv_heads != model.num_heads:
        conditions.append(("tp", tp, "num_kv_heads", model.shown_kv_heads))
    if strategy.weight_sharded:
        conditions += [
            ("dp*sp", dp * sp, "input_dim", model.input_dim),
            ("dp*sp", dp * sp, "d_model", model.d_model),
            ("dp", dp, "d_model", model.d_model),
        ]
        if model.d_model % model.num_heads == 0:
            conditions.append(("sp", sp, "d_model/num_heads", model.d_model // model.num_heads))
    return [
        f"{divisor_name} {divisor} does not divide {size_name} {size} "
        f"(nearest multiples of {divisor}: {_nearest_multiples(divisor, size)})"
        for divisor_name, divisor, size_name, size in conditions
        if size % divisor
    ]


def _batch_condition(model: ModelSpec, strategy: Strategy) -> tuple[str, int, str, int]:
    dp, count = strategy.dp, model.micro_batches_on(strategy.dp, strategy.pp)
    if count == 1:
        return "dp", dp, "batch_size", model.batch_size
    return "dp*micro_batches", dp * count, "batch_size", model.batch_size


def _nearest_multiples(divisor: int, size: int) -> str:
    below = size // divisor * divisor
    return f"{below}, {below + divisor}" if below else f"{divisor}"
