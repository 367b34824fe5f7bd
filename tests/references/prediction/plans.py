"""Choices of a plan as sets and counts: modules that are computed again, layers that go to the host."""

from __future__ import annotations

from dse.prediction.steps.plan import Plan

_ALL_LAYERS = 2**31
_MODULES_OF = {"none": "", "selective": "core_attn", "light": "layernorm+moe_act+mla_up_proj"}


def recomputed(plan: Plan) -> frozenset[str] | None:
    """Return the modules that the backward pass computes again; None: whole layers."""
    if plan.recompute == "full":
        return None
    named = _MODULES_OF.get(plan.recompute, plan.recompute)
    return frozenset(named.split("+")) - {""}


def offloaded_layers(plan: Plan) -> int:
    """Return layers of a stage whose activations go to the host's memory; above any count if all do."""
    kind, _, count = plan.offload.partition("-")
    return (int(count) if count else _ALL_LAYERS) if kind == "activations" else 0
