"""Arithmetic of shell scripts: whole numbers, comparisons and logic, within 64 bits."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from dse.base.errors import InputError, excerpt

_SIGN = r"\|\||&&|\+\+|--|\*\*|<<|>>|[=!<>]=|[-+*/%()<>!?:&|^]"
_TOKEN = re.compile(rf"\s*(?:([0-9]{{1,20}})|([A-Za-z_][A-Za-z0-9_]*)|({_SIGN}))", re.ASCII)
_BITS = (("|",), ("^",), ("&",))
_NUMBERS = (("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_LEVELS = (("||",), ("&&",), *_BITS, *_NUMBERS)
_OF_SIGN = {"+": operator.add, "-": operator.sub, "*": operator.mul, "==": operator.eq, "!=": operator.ne}
_OF_SIGN |= {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
_OF_SIGN |= {"|": operator.or_, "^": operator.xor, "&": operator.and_}
_OF_SIGN |= {"<<": operator.lshift, ">>": operator.rshift}
_MOST_TOKENS = 10_000
_MOST_NESTING = 50
_ALLOWED = (
    "allowed are whole numbers, names, + - * / % ** << >> & | ^, comparisons, && || ! ? : and parentheses"
)
_MOST_POWER = 64


def calculated(text: str, value_of: Callable[[str], int], where: str) -> int:
    """Return the value of an expression as bash has it: division goes towards zero.

    Args:
        text: such as `NODES * 8`.
        value_of: the number that a name stands for.
        where: how messages call the place.

    Raises:
        InputError: another kind of expression, a division by zero, or a number beyond 64 bits.
    """
    tokens, at = list[str](), 0
    text = text.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(tokens) == _MOST_TOKENS:
            raise InputError(f"{where}: $(({excerpt(text)})) is not read; {_ALLOWED}")
        tokens.append(found[1] or found[2] or found[3])
        at = found.end()
    return _Reader([*tokens, ""], value_of, f"{where}: $(({excerpt(text)}))").whole() if tokens else 0


@dataclass
class _Reader:
    tokens: list[str]
    value_of: Callable[[str], int]
    where: str
    at: int = 0
    depth: int = field(default=0)
    left_out: int = 0
    """How many choices and joints leave out what is read now, as in 0 && 1/0: nothing there is an error."""

    def whole(self) -> int:
        value = self._choice()
        if self.tokens[self.at]:
            raise InputError(f"{self.where} is not read; {_ALLOWED}")
        return value

    def _taken(self, *texts: str) -> str:
        token = self.tokens[self.at]
        if token not in texts:
            return ""
        self.at += 1
        return token

    def _choice(self) -> int:
        """Read A ? B : C."""
        value = self._level()
        if not self._taken("?"):
            return value
        self._enter()
        first = self._maybe(self._choice, is_left_out=not value)
        if not self._taken(":"):
            raise InputError(f"{self.where} lacks a : behind ?")
        second = self._maybe(self._choice, is_left_out=bool(value))
        self.depth -= 1
        return first if value else second

    def _level(self, level: int = 0) -> int:
        """Read what the signs of a level join, those of higher levels first."""
        if level == len(_LEVELS):
            return self._factor()
        value = self._level(level + 1)
        while sign := self._taken(*_LEVELS[level]):
            if sign in ("||", "&&"):
                is_left_out = bool(value) == (sign == "||")
                other = self._maybe(lambda: self._level(level + 1), is_left_out=is_left_out)
                value = int(bool((value or other) if sign == "||" else (value and other)))
                continue
            other = self._level(level + 1)
            if self.left_out:
                continue
            if sign in ("<<", ">>") and not 0 <= other < _MOST_POWER:
                raise InputError(f"{self.where}: a shift goes from 0 to {_MOST_POWER - 1}, not {other}")
            if sign in _OF_SIGN:
                value = self._within(int(_OF_SIGN[sign](value, other)))
                continue
            if other == 0:
                raise InputError(f"{self.where} divides by zero")
            quotient = abs(value) // abs(other) * (1 if (value < 0) == (other < 0) else -1)
            value = quotient if sign == "/" else value - quotient * other
        return value

    def _maybe(self, read: Callable[[], int], *, is_left_out: bool) -> int:
        """Read what a shell leaves out of the calculation, or does not."""
        self.left_out += is_left_out
        value = read()
        self.left_out -= is_left_out
        return value

    def _factor(self) -> int:
        """Read a power; signs before it belong to its base, as in bash."""
        value = self._signed()
        if not self._taken("**"):
            return value
        self._enter()
        exponent = self._factor()
        self.depth -= 1
        if self.left_out:
            return 0
        if not 0 <= exponent < _MOST_POWER:
            raise InputError(f"{self.where}: a power goes from 0 to {_MOST_POWER - 1}, not {exponent}")
        return self._within(value**exponent)

    def _signed(self) -> int:
        if sign := self._taken("+", "-", "!"):
            self._enter()
            value = self._signed()
            self.depth -= 1
            return int(not value) if sign == "!" else -value if sign == "-" else value
        if self._taken("("):
            self._enter()
            value = self._choice()
            self.depth -= 1
            if not self._taken(")"):
                raise InputError(f"{self.where} lacks a )")
            return value
        return self._operand()

    def _enter(self) -> None:
        self.depth += 1
        if self.depth > _MOST_NESTING:
            raise InputError(f"{self.where} is nested deeper than {_MOST_NESTING} levels, the most allowed")

    def _operand(self) -> int:
        token = self.tokens[self.at]
        if not token or not (token[0].isalnum() or token[0] == "_"):
            raise InputError(f"{self.where} is not read; {_ALLOWED}")
        self.at += 1
        if not token.isdigit():
            return 0 if self.left_out else self.value_of(token)
        if len(token) > 1 and token[0] == "0":
            raise InputError(f"{self.where}: {token} is octal in a shell; write it without the first 0")
        return self._within(int(token))

    def _within(self, value: int) -> int:
        if abs(value) >= 2**63:
            raise InputError(f"{self.where} exceeds 64 bits")
        return value
