"""Constraints as data: a small arithmetic language, checked and evaluated without Python's `eval`."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dse.errors import InputError
from dse.suggestions import did_you_mean

_Evaluator = Callable[[Mapping[str, float]], Any]

_ALLOWED = (
    "allowed are numbers, true, false, names, + - * / // % **, comparisons, and, or, not, parentheses, "
    "min, max, abs and log2"
)
_MAX_LENGTH = 1000
_MAX_DEPTH = 50
_MAX_POWER_BITS = 4096
_LITERALS = {"true": True, "false": False}
# Python reads no `.0` inside a dotted name: there the dot becomes a letter of the same length, and back.
_DOTTED_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.\w+)+")
_DOT = "\u02d1"


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _MAX_POWER_BITS:
        raise ValueError(f"the power has more than {_MAX_POWER_BITS} bits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a fractional power of a negative number is not a real number")
    return float(result) if isinstance(result, float) else int(result)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
_COMPARISON: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Name -> function, least and greatest number of arguments.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, float]] = {
    "min": (min, 2, math.inf),
    "max": (max, 2, math.inf),
    "abs": (abs, 1, 1),
    "log2": (math.log2, 1, 1),
}


class Expression:
    """An expression over named numbers, such as `dp * tp * sp * pp == npus`.

    Arithmetic and precedence are Python's; `and`, `or` and `not` yield true or false. Powers are bounded to
    4096 bits, texts to 1000 characters and nesting to 50 levels, so that no expression can take long. Names
    may have parts, also numbers: `system.network.0.npus`. `names_used` are those of the text, in its order.

    Args:
        text: the expression.
        names: the names that it may use.
        key: how messages call it, for example `space.constraints.0`.
        explain: what a message adds for an unknown name; by default the known names and the nearest one.

    Raises:
        InputError: anything outside the language; names the expression, the column (from 1) and what is
            allowed.
    """

    def __init__(
        self,
        text: str,
        names: Collection[str],
        key: str = "expression",
        explain: Callable[[str], str] | None = None,
    ) -> None:
        """Parse and check `text`, with blanks and line breaks folded."""
        self.text = " ".join(text.split())
        self.key = key
        self.names_used: tuple[str, ...] = ()
        self._names = names
        self._explain = explain or self._known_names
        self._source = _DOTTED_NAME.sub(lambda name: re.sub(r"\.(?=\d)", _DOT, name[0]), self.text)
        if len(self.text) > _MAX_LENGTH:
            raise InputError(f"{key} has {len(self.text)} characters; at most {_MAX_LENGTH} are allowed")
        try:
            tree = ast.parse(self._source, mode="eval")
        except SyntaxError as error:
            problem = error.msg.partition(". ")[0].replace(_DOT, ".")
            raise self._error(error.offset or 1, problem) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise self._error(1, f"cannot be parsed ({error})") from None
        self._evaluate = self._compile(tree.body, 0)

    def evaluate(self, values: Mapping[str, float]) -> float:
        """Return the value for these values of the names (all of them).

        Raises:
            InputError: a division by zero, a logarithm of a number that is not positive, or an overflow.
        """
        return self._evaluate(values)  # type: ignore[no-any-return]

    def holds(self, values: Mapping[str, float]) -> bool:
        """Return whether the expression is true for these values of the names.

        Raises:
            InputError: as `evaluate`; or the value is a number rather than true or false.
        """
        result = self._evaluate(values)
        if not isinstance(result, bool):
            raise InputError(f"{self.key} '{self.text}' yields {result}; it must yield true or false")
        return result

    def _error(self, column: int, problem: str) -> InputError:
        return InputError(f"{self.key} '{self.text}', column {column}: {problem}; {_ALLOWED}")

    def _column(self, node: ast.expr) -> int:
        """Return the column of a node, from 1, in characters; Python counts bytes."""
        return len(self._source.encode()[: node.col_offset].decode()) + 1

    def _compile(self, node: ast.expr, depth: int) -> _Evaluator:
        if depth > _MAX_DEPTH:
            raise self._error(self._column(node), f"nested deeper than {_MAX_DEPTH} levels")
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            constant = node.value
            if constant == math.inf:
                raise self._error(self._column(node), "the number is too large")
            return lambda _: constant
        if (name := _dotted_name(node)) is not None:
            return self._compile_name(name, node)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return self._apply(node, _BINARY[type(node.op)], [node.left, node.right], depth)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            return self._apply(node, _UNARY[type(node.op)], [node.operand], depth)
        if isinstance(node, ast.BoolOp):
            parts = [self._compile(value, depth + 1) for value in node.values]
            quantifier = all if isinstance(node.op, ast.And) else any
            return lambda values: quantifier(part(values) for part in parts)
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARISON for op in node.ops):
            return self._compile_comparison(node, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
            function, least, most = _FUNCTIONS[node.func.id]
            if node.keywords or not least <= len(node.args) <= most:
                expected = "one argument" if most == 1 else "two or more arguments"
                raise self._error(self._column(node), f"{node.func.id} takes {expected}, without names")
            return self._apply(node, function, node.args, depth)
        part = ast.get_source_segment(self._source, node) or ""
        raise self._error(self._column(node), f"'{part.replace(_DOT, '.')}' is not allowed")

    def _compile_name(self, name: str, node: ast.expr) -> _Evaluator:
        if name in self._names:
            self.names_used = tuple(dict.fromkeys([*self.names_used, name]))
            return lambda values: values[name]
        if name in _LITERALS:
            return lambda _: _LITERALS[name]
        raise self._error(self._column(node), f"unknown name '{name}' ({self._explain(name)})")

    def _known_names(self, name: str) -> str:
        return f"known names: {', '.join(self._names)}{did_you_mean(name, self._names)}"

    def _compile_comparison(self, node: ast.Compare, depth: int) -> _Evaluator:
        operands = [self._compile(operand, depth + 1) for operand in [node.left, *node.comparators]]
        operators = [_COMPARISON[type(op)] for op in node.ops]

        def evaluate(values: Mapping[str, float]) -> bool:
            left = operands[0](values)
            for compare, operand in zip(operators, operands[1:], strict=True):
                right = operand(values)
                if not compare(left, right):
                    return False
                left = right
            return True

        return evaluate

    def _apply(
        self, node: ast.expr, function: Callable[..., Any], arguments: list[ast.expr], depth: int
    ) -> _Evaluator:
        operands = [self._compile(argument, depth + 1) for argument in arguments]
        column = self._column(node)

        def evaluate(values: Mapping[str, float]) -> Any:
            evaluated = [operand(values) for operand in operands]
            try:
                return function(*evaluated)
            except OverflowError:
                raise self._error(column, f"the result is too large (operands {evaluated})") from None
            except (ArithmeticError, ValueError) as error:
                raise self._error(column, f"{error} (operands {evaluated})") from None

        return evaluate


def _dotted_name(node: ast.expr) -> str | None:
    """Return the text of a name, or of a name with parts; None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)]).replace(_DOT, ".")
