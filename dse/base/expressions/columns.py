"""Expressions over the columns of an Arrow table, with nulls as in SQL."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.base.expressions.parser import error, parse
from dse.base.expressions.tree import Apply, Compare, Constant, Every, IsNull, Name, Node, Not, OneOf, names
from dse.base.lazy import np, pa, pc

_SIGNS = {
    "==": "equal",
    "!=": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_CHECKED = {"+": "add", "-": "subtract", "*": "multiply", "**": "power", "negate": "negate", "abs": "abs"}
_ELEMENT_WISE = {"min": "min_element_wise", "max": "max_element_wise"}
_KINDS = {"number": "a number", "text": "a text", "flag": "true or false"}


class ColumnExpression:
    """A condition or a number for each row of a table (grammar: dse.base.expressions.parser).

    What has a null operand is null, `and` and `or` know what they can (false and null is false), and a row
    is chosen where the condition is true. A division by zero is infinite, its rest null. Whole numbers that
    leave 64 bits become floating-point ones.

    Args:
        text: the expression.
        key: how messages call it, such as `where`.
        read: the column of a name in a table; raises `InputError` for an unknown one.

    Raises:
        InputError: anything outside the language; names the column of the text (from 1) and what is allowed.
    """

    def __init__(self, text: str, key: str, read: Callable[[pa.Table, str], pa.ChunkedArray]) -> None:
        """Parse the text."""
        self.text = " ".join(text.split())
        self.key = key
        self.tree = parse(text, key)
        self._read = read

    @property
    def columns(self) -> tuple[str, ...]:
        """The names that it uses, in the order of the text."""
        return tuple(dict.fromkeys(node.name for node in names(self.tree)))

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the rows for which it is true; nulls are not.

        Raises:
            InputError: the expression is no condition, or compares a text with a number.
        """
        mask = self.values(table)
        if not isinstance(mask, pa.ChunkedArray | pa.Array) or not pa.types.is_boolean(mask.type):
            raise InputError(
                f"{self.key} '{excerpt(self.text, 300)}' is not true or false for each row; write a condition"
            )
        return table.filter(mask)

    def numbers(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the number of each row.

        Raises:
            InputError: the expression is no number, is the same for all rows, or as `rows`.
        """
        values = self.values(table)
        if not isinstance(values, pa.ChunkedArray) or _kind(values.type) != "number":
            raise InputError(
                f"{self.key} '{excerpt(self.text, 300)}' is not a number for each row; use a numeric column"
            )
        return values

    def values(self, table: pa.Table) -> Any:
        """Return the value of each row.

        Raises:
            InputError: as `rows`.
        """
        try:
            return self._evaluate(self.tree, table)
        except pa.ArrowException as problem:
            cause = str(problem).partition("\n")[0]
            raise InputError(f"{self.key} '{excerpt(self.text, 300)}' cannot be evaluated: {cause}") from None

    def _evaluate(self, node: Node, table: pa.Table) -> Any:
        if isinstance(node, Constant):
            large = isinstance(node.value, int) and abs(node.value) >= 2**63
            return pa.scalar(float(node.value) if large and node.value is not None else node.value)
        if isinstance(node, Name):
            return self._read(table, node.name)
        if isinstance(node, IsNull):
            return pc.is_null(self._evaluate(node.operand, table))
        if isinstance(node, Not):
            return pc.invert(self._flag(node.operand, table))
        if isinstance(node, OneOf):
            return self._one_of(node, table)
        if isinstance(node, Compare):
            return self._compare(node, table)
        if isinstance(node, Apply):
            return self._apply(node, table)
        combine = pc.and_kleene if isinstance(node, Every) else pc.or_kleene
        return reduce(combine, [self._flag(operand, table) for operand in node.operands])

    def _flag(self, node: Node, table: pa.Table) -> Any:
        """Evaluate what is true or false; a number is true unless it is 0, as in constraints."""
        value = self._evaluate(node, table)
        if _kind(value.type) == "text":
            raise self._error(node, "a text is neither true nor false")
        return value if pa.types.is_boolean(value.type) else pc.cast(value, pa.bool_())

    def _number(self, node: Node, table: pa.Table) -> Any:
        value = self._evaluate(node, table)
        if _kind(value.type) == "text":
            raise self._error(node, "a text has no arithmetic")
        whole = pa.types.is_boolean(value.type) or pa.types.is_integer(value.type)
        return pc.cast(value, pa.int64() if whole else pa.float64())

    def _apply(self, node: Apply, table: pa.Table) -> Any:
        operands = [self._number(operand, table) for operand in node.operands]
        if node.function in _ELEMENT_WISE:
            options = pc.ElementWiseAggregateOptions(skip_nulls=False)
            return pc.call_function(_ELEMENT_WISE[node.function], operands, options)
        if node.function == "log2":
            return pc.log2(operands[0])
        if node.function in ("/", "//", "%"):
            return _divided(node.function, *operands)
        try:
            return pc.call_function(f"{_CHECKED[node.function]}_checked", operands)
        except pa.ArrowInvalid:  # beyond 64 bits, or a negative power of whole numbers
            floats = [pc.cast(operand, pa.float64(), safe=False) for operand in operands]
            return pc.call_function(_CHECKED[node.function], floats)

    def _one_of(self, node: OneOf, table: pa.Table) -> Any:
        """A null is in no list, and nothing is "not in" a list that has a null: as in SQL."""
        column = [
            Compare(("==",), (node.operand, option), node.column)
            for option in node.options
            if option.value is not None
        ]
        found = [self._compare(each, table) for each in column]
        if len(column) < len(node.options):
            found.append(self._evaluate(Constant(None, node.column), table))
        return reduce(pc.or_kleene, [pc.cast(each, "bool") for each in found])

    def _compare(self, node: Compare, table: pa.Table) -> Any:
        operands = [self._evaluate(operand, table) for operand in node.operands]
        kinds = [_kind(operand.type) for operand in operands]
        if "text" in kinds and len({*kinds} - {"null"}) > 1:
            index = next(index for index, kind in enumerate(kinds) if kind != "text")
            text = node.operands[kinds.index("text")]
            raise self._error(text, f"a text is compared with {_KINDS[kinds[index]]}")
        if "flag" in kinds and "number" in kinds:
            operands = [
                pc.cast(operand, pa.int64()) if kind == "flag" else operand
                for operand, kind in zip(operands, kinds, strict=True)
            ]
        pairs = zip(node.signs, operands, operands[1:], strict=False)
        return reduce(
            pc.and_kleene, [pc.call_function(_SIGNS[sign], [left, right]) for sign, left, right in pairs]
        )

    def _error(self, node: Node, problem: str) -> InputError:
        return error(self.text, self.key, node.column, problem)


def _divided(sign: str, left: Any, right: Any) -> Any:
    """`/`, and `//` and `%` that round down as Python's do; these are null where `right` is 0."""
    if sign == "/":
        return pc.divide(*(pc.cast(operand, pa.float64(), safe=False) for operand in (left, right)))
    right = pc.if_else(pc.equal(right, 0), pa.scalar(None, right.type), right)
    if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
        return _divided_floats(sign, left, right)
    quotient = pc.divide(left, right)
    rest = pc.subtract(left, pc.multiply(quotient, right))
    below = pc.and_(pc.not_equal(rest, 0), pc.less(pc.multiply(pc.sign(rest), pc.sign(right)), 0))
    quotient = pc.subtract(quotient, pc.cast(below, pa.int64()))
    return quotient if sign == "//" else pc.subtract(left, pc.multiply(quotient, right))


def _divided_floats(sign: str, left: Any, right: Any) -> Any:
    """By the exact rest, as Python: 1 // 0.1 is 9, though the floor of 1 / 0.1 is 10."""
    divide = np.floor_divide if sign == "//" else np.remainder
    is_null = pc.or_(pc.is_null(left), pc.is_null(right))
    columns = [
        np.array(np.nan if operand.as_py() is None else operand.as_py(), dtype=np.float64)
        if isinstance(operand, pa.Scalar)
        else pc.cast(operand, pa.float64(), safe=False).to_numpy()
        for operand in (left, right)
    ]
    with np.errstate(all="ignore"):
        found = divide(*columns)
    if isinstance(is_null, pa.Scalar):
        return pa.scalar(None if is_null.as_py() else float(found), pa.float64())
    return pa.chunked_array([pa.array(found, pa.float64(), mask=is_null.to_numpy())], pa.float64())


def _kind(arrow_type: pa.DataType) -> str:
    types = pa.types
    if types.is_dictionary(arrow_type):
        return _kind(arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return "flag"
    if types.is_null(arrow_type):
        return "null"
    return "number" if types.is_integer(arrow_type) or types.is_floating(arrow_type) else "text"
