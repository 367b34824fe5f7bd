"""Settings of a strategy: keys, types, meanings, from its axes."""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import Any

from dse.base.settings import key
from dse.inputs.strategies.axes import StrategyAxis
from dse.inputs.strategies.strategy import AXES


def axis_key(axis: StrategyAxis, meaning: str, default: Any, instead: str = "") -> Any:
    """Return a key for an axis; files that are older than a younger axis need not have it."""
    if axis.since == 1:
        return key(meaning, instead=instead)
    return key(meaning, factory=lambda: default, instead=instead)


def _field(axis: StrategyAxis) -> tuple[str, Any, Any]:
    return axis.name, axis.type, axis_key(axis, axis.meaning, axis.default)


StrategySchema = make_dataclass("StrategySchema", map(_field, AXES))
"""The strategy of `dse point`: see `dse.inputs.strategies.Strategy`."""
