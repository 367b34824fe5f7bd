"""Expressions over one set of named numbers, compiled once and evaluated many times."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dse.base.errors import InputError, did_you_mean, excerpt
from dse.base.expressions.parser import error, parse
from dse.base.expressions.tree import (
    Apply,
    Compare,
    Constant,
    Every,
    IsNull,
    Name,
    Node,
    Not,
    OneOf,
    Some,
    names,
)

_Evaluator = Callable[[Mapping[str, Any]], Any]
_MAX_POWER_BITS = 4096


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > _MAX_POWER_BITS:
        raise ValueError(f"the power has more than {_MAX_POWER_BITS} bits")
    result = base**exponent
    if isinstance(result, complex):
        raise ValueError("a fractional power of a negative number is not a real number")
    return float(result) if isinstance(result, float) else int(result)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
    "negate": operator.neg,
    "min": min,
    "max": max,
    "abs": abs,
    "log2": math.log2,
}
_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Expression:
    """An expression over named numbers, such as `dp * tp * sp * pp == npus`; for its grammar see `parser`.

    Arithmetic is Python's; `and`, `or` and `not` yield true or false. Powers are bounded to 4096 bits, so
    that no expression can take long. `names_used` are those of the text, in its order; `tree` is the
    parsed text.

    Args:
        text: the expression.
        names: the names that it may use; all of them have a number, so texts and null are refused.
        key: how messages call it, for example `space.constraints.0`.
        explain: what a message adds for an unknown name; by default the known names and the nearest one.
        texts: those names that stand for texts, with the texts that they may be; they are only compared with
            them, by ==, != and in.

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
        texts: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        """Parse and check `text`, with blanks and line breaks folded."""
        self.text = " ".join(text.split())
        self.key = key
        self.tree = parse(text, key)
        self._names = names
        self._texts = texts or {}
        self._explain = explain or self._known_names
        self.names_used = self._checked_names()
        self._evaluate = self._compile(self.tree)

    def evaluate(self, values: Mapping[str, Any]) -> float:
        """Return the value for these values of the names (all of them).

        Raises:
            InputError: a division by zero, a logarithm of a number that is not positive, or an overflow.
        """
        return self._evaluate(values)  # type: ignore[no-any-return]

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Return whether the expression is true for these values of the names.

        Raises:
            InputError: as `evaluate`; or the value is a number rather than true or false.
        """
        result = self._evaluate(values)
        if not isinstance(result, bool):
            raise InputError(
                f"{self.key} '{excerpt(self.text, 300)}' yields {result}; it must yield true or false"
            )
        return result

    def evaluator(self, node: Node) -> _Evaluator:
        """Return what evaluates a part of `tree` for values of the names."""
        return self._compile(node)

    def _error(self, node: Node, problem: str) -> InputError:
        return error(self.text, self.key, node.column, problem)

    def _checked_names(self) -> tuple[str, ...]:
        for node in names(self.tree):
            if node.name not in self._names:
                raise self._error(node, f"unknown name '{node.name}' ({self._explain(node.name)})")
        return tuple(dict.fromkeys(node.name for node in names(self.tree)))

    def _known_names(self, name: str) -> str:
        return f"known names: {', '.join(self._names)}{did_you_mean(name, self._names)}"

    def _compile(self, node: Node) -> _Evaluator:
        if isinstance(node, Constant):
            constant = node.value
            if constant is None or isinstance(constant, str):
                what = "null" if constant is None else "a text"
                raise self._error(node, f"{what} is not a number, and all names stand for numbers")
            return lambda _: constant
        if isinstance(node, Name):
            if node.name in self._texts:
                raise self._error(node, f"{node.name} is a text; compare it, {node.name} == '…'")
            return operator.itemgetter(node.name)
        if isinstance(node, IsNull):
            raise self._error(node, "all names stand for numbers, so nothing is null")
        if isinstance(node, Not):
            operand = self._compile(node.operand)
            return lambda values: not operand(values)
        if isinstance(node, Every | Some):
            operands = [self._compile(each) for each in node.operands]
            quantifier = all if isinstance(node, Every) else any
            return lambda values: quantifier(each(values) for each in operands)
        if isinstance(node, OneOf | Compare) and (name := self._text_name(node)) is not None:
            return self._compile_text(node, name)
        if isinstance(node, OneOf):
            operand = self._compile(node.operand)
            options = [self._compile(option)({}) for option in node.options]
            return lambda values: operand(values) in options
        return self._compile_compare(node) if isinstance(node, Compare) else self._compile_apply(node)

    def _text_name(self, node: OneOf | Compare) -> str | None:
        """The name that stands for texts in a comparison, if there is one."""
        operands = (node.operand,) if isinstance(node, OneOf) else node.operands
        names_there = [each.name for each in operands if isinstance(each, Name)]
        return next((name for name in names_there if name in self._texts), None)

    def _compile_text(self, node: OneOf | Compare, name: str) -> _Evaluator:
        read = operator.itemgetter(name)
        if isinstance(node, OneOf):
            options = [self._text(option, name) for option in node.options]
            return lambda values: read(values) in options
        if len(node.signs) > 1 or node.signs[0] not in ("==", "!="):
            raise self._error(node, f"{name} is a text, which is compared with one by == or !=")
        (text,) = [self._text(each, name) for each in node.operands if getattr(each, "name", "") != name]
        compare = _SIGNS[node.signs[0]]
        return lambda values: compare(read(values), text)

    def _text(self, node: Node, name: str) -> str:
        """The text that a name is compared with: one of those that it may be."""
        known = self._texts[name]
        value = node.value if isinstance(node, Constant) else None
        if not isinstance(value, str) or value not in known:
            shown = f"'{value}'" if isinstance(value, str) else "something else"
            raise self._error(
                node,
                f"{name} is compared with {shown}; it is one of {', '.join(known)}"
                f"{did_you_mean(str(value), known)}",
            )
        return value

    def _compile_compare(self, node: Compare) -> _Evaluator:
        operands = [self._compile(operand) for operand in node.operands]
        signs = [_SIGNS[sign] for sign in node.signs]
        if len(signs) == 1:
            compare, (left, right) = signs[0], operands
            return lambda values: compare(left(values), right(values))

        def evaluate(values: Mapping[str, float]) -> bool:
            low = operands[0](values)
            for sign, operand in zip(signs, operands[1:], strict=True):
                high = operand(values)
                if not sign(low, high):
                    return False
                low = high
            return True

        return evaluate

    def _compile_apply(self, node: Apply) -> _Evaluator:
        operands = [self._compile(operand) for operand in node.operands]
        function = _FUNCTIONS[node.function]

        def evaluate(values: Mapping[str, float]) -> Any:
            evaluated = [operand(values) for operand in operands]
            try:
                return function(*evaluated)
            except OverflowError:
                raise self._error(node, f"the result is too large (operands {evaluated})") from None
            except (ArithmeticError, ValueError) as problem:
                raise self._error(node, f"{problem} (operands {evaluated})") from None

        return evaluate
