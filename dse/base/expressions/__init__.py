"""One language for constraints, objectives, budgets, conditions and costs; two evaluators."""

from dse.base.expressions.columns import ColumnExpression
from dse.base.expressions.parser import parse
from dse.base.expressions.scalar import Expression
from dse.base.expressions.tree import to_json

__all__ = ["ColumnExpression", "Expression", "parse", "to_json"]
