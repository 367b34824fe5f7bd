"""A parallelisation strategy, and what makes one infeasible."""

from dse.strategies.divisibility import InfeasibleStrategy, check, indivisible
from dse.strategies.strategy import STRATEGY_FIELDS, Strategy

__all__ = [
    "STRATEGY_FIELDS",
    "InfeasibleStrategy",
    "Strategy",
    "check",
    "indivisible",
]
