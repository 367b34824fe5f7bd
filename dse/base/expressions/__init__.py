"""One language for constraints, objectives, budgets, conditions and costs; two evaluators."""

from dse.base.expressions.columns import ColumnExpression as ColumnExpression
from dse.base.expressions.parser import parse as parse
from dse.base.expressions.scalar import Expression as Expression
from dse.base.expressions.tree import to_json as to_json
