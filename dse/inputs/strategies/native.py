"""A model and a strategy as the engine takes them; apart from the package, which does without the engine."""

from __future__ import annotations

from dse.inputs.models import MODEL_DIMENSIONS, REPAIRS, ModelSpec, refuse_untraceable
from dse.inputs.strategies.strategy import TRACED, Strategy
from dse.native import _engine

_RECOMPUTES = {
    "stage": _engine.Recompute.STAGE,
    "selective": _engine.Recompute.SELECTIVE,
    "full": _engine.Recompute.FULL,
}


def native_strategy(strategy: Strategy) -> _engine.StrategySpec:
    """Return a strategy as the engine takes it."""
    native = _engine.StrategySpec()
    for key in TRACED:
        setattr(native, key, getattr(strategy, key))
    return native


def native_model(model: ModelSpec, strategy: Strategy) -> _engine.ModelSpec:
    """Return a model as the engine takes it; micro-batches may depend on the strategy.

    Raises:
        InputError: the engine makes no workload of such a model.
    """
    refuse_untraceable(model)
    native = _engine.ModelSpec()
    for key in MODEL_DIMENSIONS:
        setattr(native, key, getattr(model, key))
    if model.is_reference:
        return native
    native.num_kv_heads = model.shown_kv_heads
    native.gated_mlp = model.gated_mlp
    fidelity = _engine.Fidelity()
    repairs = model.resolved_repairs
    for key in REPAIRS:
        value = getattr(repairs, key)
        setattr(fidelity, key, _RECOMPUTES[value] if key == "recompute" else value)
    fidelity.micro_batches = model.micro_batches_on(strategy.dp, strategy.pp)
    native.fidelity = fidelity
    return native
