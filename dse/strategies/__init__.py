"""A parallelisation strategy, and what makes one infeasible."""

from dse.strategies.divisibility import InfeasibleStrategy, check, indivisible
from dse.strategies.groups import Axis, axis_of_group
from dse.strategies.strategy import STRATEGY_FIELDS, Strategy

__all__ = [
    "STRATEGY_FIELDS",
    "Axis",
    "InfeasibleStrategy",
    "Strategy",
    "axis_of_group",
    "check",
    "indivisible",
]
