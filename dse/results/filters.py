"""Conditions and costs over the columns of a study, written as in SQL: `tp <= 8 and status = 'ok'`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dse.errors import InputError
from dse.results.columns import column
from dse.units import parse_bytes

if TYPE_CHECKING:
    import pyarrow as pa

_ALLOWED = (
    "allowed are columns, numbers (80GB too), 'texts', true, false, + - * /, comparisons, and, or, not, "
    "in (...), between, is null, is not null, parentheses"
)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^']|'')*')
  | (?P<size>\d+(?:\.\d+)?[KMGTP]i?B\b)
  | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
  | (?P<name>[A-Za-z_]\w*(?:\.\w+)*)
  | (?P<sign><>|<=|>=|==|!=|[-+*/()<>=,])
    )""",
    re.VERBOSE,
)
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "true", "false", "between"}
_CONSTANTS = {"null": "None", "true": "True", "false": "False"}
_SIGNS = {"=": "==", "<>": "!="}
_MAX_LENGTH = 2000

_BINARY = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}
_COMPARISON = {
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
}


class Filter:
    """An expression over columns and dotted fields; nothing is ever run as Python.

    Args:
        text: the expression.
        key: how messages call it, such as `--where`.

    Raises:
        InputError: anything outside the language; names what is allowed.
    """

    def __init__(self, text: str, key: str) -> None:
        """Parse the text."""
        self.text = text
        self._shown = " ".join(text.split())
        self.key = key
        self._columns: list[str] = []
        if len(text) > _MAX_LENGTH:
            raise InputError(f"{key} has {len(text)} characters; at most {_MAX_LENGTH} are allowed")
        try:
            self._tree = ast.parse(self._as_python(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._error("cannot be parsed") from None
        self._check(self._tree, 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns and fields that it uses."""
        return tuple(dict.fromkeys(self._columns))

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the rows for which it is true; nulls are not.

        Raises:
            InputError: the expression is no condition, compares a text with a number, or divides by zero.
        """
        import pyarrow as pa

        mask = self.values(table)
        if not isinstance(mask, pa.ChunkedArray | pa.Array) or not pa.types.is_boolean(mask.type):
            raise InputError(
                f"{self.key} '{self._shown}' is not true or false for each row; write a condition"
            )
        return table.filter(mask)

    def numbers(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the number of each row.

        Raises:
            InputError: the expression is no number, is the same for all rows, or as `rows`.
        """
        import pyarrow as pa

        values = self.values(table)
        if not isinstance(values, pa.ChunkedArray) or not (
            pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
        ):
            raise InputError(f"{self.key} '{self._shown}' is not a number for each row; use a numeric column")
        return values

    def values(self, table: pa.Table) -> Any:
        """Return the value of each row.

        Raises:
            InputError: as `rows`.
        """
        import pyarrow as pa

        try:
            return self._evaluate(self._tree, table)
        except pa.ArrowException as error:
            cause = str(error).partition("\n")[0]
            raise InputError(f"{self.key} '{self._shown}' cannot be evaluated: {cause}") from None

    def _error(self, problem: str) -> InputError:
        return InputError(f"{self.key} '{self._shown}' {problem}; {_ALLOWED}")

    def _as_python(self) -> str:
        """The same expression in Python's syntax, with columns as subscripts, so that `ast` can read it."""
        words: list[str] = []
        position = 0
        text = self.text.strip()
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None:
                raise self._error(f"cannot be parsed at '{' '.join(text[position : position + 10].split())}'")
            position = token.end()
            words.append(self._word(token))
        return _without_between(words, self._error)

    def _word(self, token: re.Match[str]) -> str:
        kind, value = str(token.lastgroup), token[str(token.lastgroup)]
        if kind == "text":
            return repr(value[1:-1].replace("''", "'"))
        if kind == "size":
            return str(parse_bytes(value, self.key))
        if kind == "sign":
            return _SIGNS.get(value, value)
        if kind == "name":
            if value.lower() in _KEYWORDS:
                return _CONSTANTS.get(value.lower(), value.lower())
            self._columns.append(value)
            return f"_[{value!r}]"
        whole = value.isdecimal() and float(value) < 2**63
        return (value.lstrip("0") or "0") if whole else str(float(value))

    def _check(self, node: ast.expr, depth: int) -> None:
        allowed = (
            isinstance(node, ast.Constant | ast.BoolOp)
            or (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name))
            or (isinstance(node, ast.BinOp) and type(node.op) in _BINARY)
            or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.UAdd))
            or (isinstance(node, ast.Compare) and all(_is_comparison(node)))
        )
        if not allowed or depth > 50:
            raise self._error("uses what is not allowed")
        for child in self._operands(node):
            self._check(child, depth + 1)

    def _operands(self, node: ast.expr) -> list[ast.expr]:
        """The parts of a node that are expressions of their own: not names, and not the list behind `in`."""
        if isinstance(node, ast.Subscript):
            return []
        if not isinstance(node, ast.Compare):
            return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        operands = [node.left]
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            if not isinstance(comparison, ast.In | ast.NotIn):
                operands.append(operand)
            elif not all(isinstance(item, ast.Constant) for item in _items(operand)):
                raise self._error("has a list with something else than constants")
        return operands

    def _evaluate(self, node: ast.expr, table: pa.Table) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(node, ast.Constant):
            return pa.scalar(node.value)
        if isinstance(node, ast.Subscript):
            assert isinstance(node.slice, ast.Constant)
            return column(table, str(node.slice.value))
        if isinstance(node, ast.BinOp):
            left, right = self._evaluate(node.left, table), self._evaluate(node.right, table)
            if isinstance(node.op, ast.Div):
                left = pc.cast(left, pa.float64())
            return pc.call_function(_BINARY[type(node.op)], [left, right])
        if isinstance(node, ast.UnaryOp):
            value = self._evaluate(node.operand, table)
            if isinstance(node.op, ast.Not):
                return pc.invert(value)
            return pc.negate(value) if isinstance(node.op, ast.USub) else value
        if isinstance(node, ast.BoolOp):
            combine = pc.and_kleene if isinstance(node.op, ast.And) else pc.or_kleene
            result = self._evaluate(node.values[0], table)
            for value in node.values[1:]:
                result = combine(result, self._evaluate(value, table))
            return result
        assert isinstance(node, ast.Compare)
        return self._compare(node, table)

    def _compare(self, node: ast.Compare, table: pa.Table) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        result: Any = None
        left = self._evaluate(node.left, table)
        for comparison, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(comparison, ast.In | ast.NotIn):
                options = [item.value for item in _items(operand) if isinstance(item, ast.Constant)]
                found = pc.is_in(left, value_set=pa.array(options))
                part = found if isinstance(comparison, ast.In) else pc.invert(found)
                right = left
            elif isinstance(comparison, ast.Is | ast.IsNot):
                part = pc.is_null(left) if isinstance(comparison, ast.Is) else pc.is_valid(left)
                right = left
            else:
                right = self._evaluate(operand, table)
                part = pc.call_function(_COMPARISON[type(comparison)], [left, right])
            result = part if result is None else pc.and_kleene(result, part)
            left = right
        return result


def _items(operand: ast.expr) -> list[ast.expr]:
    return operand.elts if isinstance(operand, ast.Tuple) else [operand]


def _is_comparison(node: ast.Compare) -> list[bool]:
    def is_null(operand: ast.expr) -> bool:
        return isinstance(operand, ast.Constant) and operand.value is None

    return [
        is_null(operand)
        if isinstance(comparison, ast.Is | ast.IsNot)
        else not is_null(operand) and type(comparison) in {*_COMPARISON, ast.In, ast.NotIn}
        for comparison, operand in zip(node.ops, node.comparators, strict=True)
    ]


def _without_between(words: list[str], error: Callable[[str], InputError]) -> str:
    """`x between a and b` as `a <= x <= b`, for a column x and constants a and b."""
    result: list[str] = []
    index = 0
    while index < len(words):
        if words[index] != "between":
            result.append(words[index])
            index += 1
            continue
        if not result or index + 3 >= len(words) or words[index + 2] != "and":
            raise error("has a between that is not of the form COLUMN between NUMBER and NUMBER")
        result.append(f"({words[index + 1]} <= {result.pop()} <= {words[index + 3]})")
        index += 4
    return " ".join(result)
