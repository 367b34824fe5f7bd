"""A parallelisation strategy, and what makes one infeasible."""

from dse.inputs.strategies.axes import AxisValue, StrategyAxis
from dse.inputs.strategies.divisibility import (
    Divisibility,
    InfeasibleStrategy,
    broken_units,
    check,
    check_values,
    indivisible,
    is_feasible,
    require_divisible,
    resolved_divisibility,
    value_problem,
)
from dse.inputs.strategies.groups import axis_of_group
from dse.inputs.strategies.strategy import (
    AXES,
    AXIS,
    DEGREES,
    GROUPED,
    OPTIONS,
    STRATEGY_FIELDS,
    TRACED,
    Strategy,
    StrategyFields,
    shown_axes,
    strategy_values,
)

__all__ = [
    "AXES",
    "AXIS",
    "DEGREES",
    "GROUPED",
    "OPTIONS",
    "STRATEGY_FIELDS",
    "TRACED",
    "AxisValue",
    "Divisibility",
    "InfeasibleStrategy",
    "Strategy",
    "StrategyAxis",
    "StrategyFields",
    "axis_of_group",
    "broken_units",
    "check",
    "check_values",
    "indivisible",
    "is_feasible",
    "require_divisible",
    "resolved_divisibility",
    "shown_axes",
    "strategy_values",
    "value_problem",
]
