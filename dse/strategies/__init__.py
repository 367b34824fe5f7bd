"""A parallelisation strategy, and what makes one infeasible."""

from dse.strategies.axes import StrategyAxis
from dse.strategies.divisibility import (
    Divisibility,
    InfeasibleStrategy,
    broken_units,
    check,
    indivisible,
    is_feasible,
    require_divisible,
    resolved_divisibility,
)
from dse.strategies.groups import axis_of_group
from dse.strategies.strategy import (
    AXES,
    DEGREES,
    FLAGS,
    GROUPED,
    STRATEGY_FIELDS,
    Strategy,
    StrategyFields,
    strategy_values,
)

__all__ = [
    "AXES",
    "DEGREES",
    "FLAGS",
    "GROUPED",
    "STRATEGY_FIELDS",
    "Divisibility",
    "InfeasibleStrategy",
    "Strategy",
    "StrategyAxis",
    "StrategyFields",
    "axis_of_group",
    "broken_units",
    "check",
    "indivisible",
    "is_feasible",
    "require_divisible",
    "resolved_divisibility",
    "strategy_values",
]
