"""A parallelisation strategy; the space of strategies, its constraints and samples of it."""

from dse.strategies.divisibility import InfeasibleStrategy, check, indivisible
from dse.strategies.expressions import Expression
from dse.strategies.groups import Axis, axis_of_group
from dse.strategies.space import DesignSpace, sample
from dse.strategies.strategy import STRATEGY_FIELDS, Strategy

__all__ = [
    "STRATEGY_FIELDS",
    "Axis",
    "DesignSpace",
    "Expression",
    "InfeasibleStrategy",
    "Strategy",
    "axis_of_group",
    "check",
    "indivisible",
    "sample",
]
