"""One language for constraints, objectives, budgets, conditions and costs; two evaluators."""

from dse.expressions.columns import ColumnExpression
from dse.expressions.parser import parse
from dse.expressions.scalar import Expression

__all__ = ["ColumnExpression", "Expression", "parse"]
