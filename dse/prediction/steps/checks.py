"""Values that no axis of a strategy has: what the engine is not asked about."""

from __future__ import annotations

from dse.base.errors import InputError, did_you_mean
from dse.inputs.strategies import AXES, StrategyAxis, strategy_values
from dse.prediction.steps.plan import Plan

ORDERED = ("tp", "cp", "ep", "dp", "pp")
"""Axes that an order of ranks has."""


def value_problem(plan: Plan) -> str | None:
    """Say which value no axis has, or that the order has not all axes; None where all have theirs."""
    for axis, value in zip(AXES, strategy_values(plan), strict=True):
        if value == axis.default:
            continue
        if axis.name == "order":  # whose mistakes have messages of their own
            try:
                order_axes(str(value))
            except InputError as error:
                return str(error)
        elif not axis.accepts(value):
            return _refused(axis, value)
    return None


def _refused(axis: StrategyAxis, value: object) -> str:
    is_low = isinstance(value, int) and value < axis.least
    allowed = f"it must be at least {axis.least}" if is_low else f"allowed are {', '.join(axis.names)}"
    if axis.kind != "choice" and not is_low:
        allowed = f"it must be {axis.allowed()}"
    return f"{axis.name} is {value}; {allowed}"


def order_axes(order: str) -> tuple[str, ...]:
    """The axes of an order, innermost first.

    Raises:
        InputError: not each of tp, cp, ep, dp and pp occurs once.
    """
    names = tuple(order.split("-"))
    for name in names:
        if name not in ORDERED:
            hint = did_you_mean(name, ORDERED)
            raise InputError(f"order {order!r} has {name!r}; allowed are {', '.join(ORDERED)}{hint}")
    if sorted(names) != sorted(ORDERED):
        raise InputError(f"order is {order!r}; it must have each of {', '.join(ORDERED)} once")
    return names
