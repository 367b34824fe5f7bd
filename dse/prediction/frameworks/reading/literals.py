"""Values of expressions in Python that can be told without running them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final


class _Open:
    """The value of an expression that is no literal."""


OPEN: Final = _Open()
_MOST_ITEMS = 10_000
_SIGNS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_ORDERS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
}


def literal(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return the value of constants, lists, named literals, sums of numbers or lists; OPEN where it is none.

    Types such as torch.bfloat16 are the text after their last dot.
    """
    if isinstance(node, ast.Constant):
        return node.value if node.value is None or isinstance(node.value, bool | int | float | str) else OPEN
    if isinstance(node, ast.Name):
        return names.get(node.id, OPEN)
    if isinstance(node, ast.List | ast.Tuple):
        values = [literal(item, names) for item in node.elts[:_MOST_ITEMS]]
        return OPEN if any(value is OPEN for value in values) else values
    if isinstance(node, ast.UnaryOp):
        return _unary(node, names)
    if isinstance(node, ast.BinOp):
        return _sum(node, names)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        first, second = literal(node.left, names), literal(node.comparators[0], names)
        compare = _ORDERS.get(type(node.ops[0]))
        return OPEN if compare is None or first is OPEN or second is OPEN else compare(first, second)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
        return node.attr
    return OPEN


def _unary(node: ast.UnaryOp, names: Mapping[str, Any]) -> Any:
    value = literal(node.operand, names)
    if isinstance(node.op, ast.Not) and value is not OPEN:
        return not value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return -value if isinstance(node.op, ast.USub) and is_number else OPEN


def _sum(node: ast.BinOp, names: Mapping[str, Any]) -> Any:
    values = [literal(side, names) for side in (node.left, node.right)]
    sign = _SIGNS.get(type(node.op))
    lists = [value for value in values if isinstance(value, list)]
    if isinstance(node.op, ast.Add) and len(lists) == 2:
        return [*lists[0], *lists[1]] if len(lists[0]) + len(lists[1]) <= _MOST_ITEMS else OPEN
    if isinstance(node.op, ast.Mult) and len(lists) == 1:
        (count,) = [value for value in values if not isinstance(value, list)]
        size = len(lists[0]) or 1
        return lists[0] * count if type(count) is int and 0 <= count <= _MOST_ITEMS // size else OPEN
    if sign is None or not all(type(value) in (int, float) and abs(value) < 2**63 for value in values):
        return OPEN
    try:
        return sign(*values)
    except ArithmeticError:
        return OPEN


def name_of(node: ast.expr) -> str:
    """Return a name with dots, such as cfg.model.x; an empty string for another expression."""
    parts = list[str]()
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
