"""Conditions of shell scripts: [[ ]], [ ] and test, with texts and whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import NoReturn

from dse.base.errors import InputError, excerpt
from dse.prediction.frameworks.reading.shell_arrays import Table
from dse.prediction.frameworks.reading.shell_changes import globbed
from dse.prediction.frameworks.reading.shell_nodes import Case, Node
from dse.prediction.frameworks.reading.shell_regexes import matched
from dse.prediction.frameworks.reading.shell_syntax import CONDITIONS
from dse.prediction.frameworks.reading.shell_tokens import Token
from dse.prediction.frameworks.reading.shell_words import Variables
from dse.prediction.frameworks.reading.values import ask, missing_in, readable, without_unset

_MOST_NESTING = 30
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
}
_FILE_TESTS = ("-d", "-e", "-f", "-r", "-s", "-w", "-x")
_JOINTS = ("&&", "-a", "||", "-o")
_Later = Callable[[], bool]


def holds(parts: Sequence[Token] | Sequence[str], variables: Variables, line: int) -> bool:
    """Return whether a condition holds; an unset variable is an empty text, as in a shell.

    A pattern stands on the right of == or !=, between [[ and ]].

    Args:
        parts: tokens between [[ and ]], or the expanded words of a test.
        variables: of the script.
        line: of the condition.

    Raises:
        InputError: another kind of condition, or one on a value that only a running shell would know.
    """
    condition = _Condition(variables, line, [_item(part, variables) for part in parts])
    result = condition.either()
    if condition.items:
        condition.refuse()
    return result()


def chosen(case: Case, variables: Variables) -> tuple[Node, ...]:
    """Return the statements behind the first pattern that the text of a case fits; none if it fits none.

    Raises:
        InputError: only a running shell would know the text.
    """
    text = without_unset(variables.text(case.text))
    if missing_in(text):
        raise ask(text, f"{variables.where}: line {case.line}", "a case")
    for patterns, body in case.branches:
        if any(fnmatchcase(text, pattern) for pattern in patterns):
            return body
    return ()


def _item(part: Token | str, variables: Variables) -> tuple[str, bool]:
    """A text, and whether it may be an operator."""
    if isinstance(part, str):
        return part, True
    if part.kind == "operator":
        return part.text, True
    if part.kind == "form":
        return _Regex([(variables.text((piece,)), piece.is_quoted) for piece in part.parts]), False
    is_plain = len(part.parts) == 1 and part.parts[0].kind == "text" and not part.parts[0].is_quoted
    texts = [(variables.text((piece,)), piece.is_quoted) for piece in part.parts]
    text, pattern = "".join(text for text, _ in texts), globbed(texts)
    return (text if pattern == globbed([(text, True)]) else _Pattern(text, pattern)), is_plain


class _Pattern(str):
    """A text without quotes in which signs such as * stand for others, as fnmatch has them in `form`."""

    __slots__ = ("form",)
    form: str

    def __new__(cls, text: str, form: str) -> _Pattern:
        made = super().__new__(cls, text)
        made.form = form
        return made


class _Regex(str):
    """A regular expression as text; its `pieces` have whether each is quoted."""

    __slots__ = ("pieces",)
    pieces: list[tuple[str, bool]]

    def __new__(cls, pieces: list[tuple[str, bool]]) -> _Regex:
        made = super().__new__(cls, "".join(text for text, _ in pieces))
        made.pieces = pieces
        return made


class _Condition:
    def __init__(self, variables: Variables, line: int, items: list[tuple[str, bool]]) -> None:
        self._variables, self._line, self._depth = variables, line, 0
        self.items = items[::-1]

    def refuse(self) -> NoReturn:
        raise InputError(
            f"{self._variables.where}: line {self._line}: this condition is not read; {CONDITIONS}"
        )

    def either(self) -> _Later:
        """Read conditions joined by ||; those that a shell leaves out are not evaluated."""
        found = [self._both()]
        while self._taken("||", "-o"):
            found.append(self._both())
        return lambda: any(one() for one in found)

    def _both(self) -> _Later:
        found = [self._single()]
        while self._taken("&&", "-a"):
            found.append(self._single())
        return lambda: all(one() for one in found)

    def _single(self) -> _Later:
        negated = False
        while self._taken("!"):
            negated = not negated
        if not self._taken("("):
            found = self._compared()
        else:
            self._depth += 1
            if self._depth > _MOST_NESTING:
                self.refuse()
            found = self.either()
            self._depth -= 1
            if not self._taken(")"):
                self.refuse()
        return lambda: found() != negated

    def _compared(self) -> _Later:
        first, is_operator = self._operand()
        if is_operator and first in ("-z", "-n") and self.items:
            text = self._operand()[0]
            return lambda: (self._known(text) == "") == (first == "-z")
        if is_operator and first == "-v" and self.items:
            name = self._operand()[0]
            return lambda: self._is_set(name)
        if is_operator and first in _FILE_TESTS and self.items:
            file = excerpt(readable(self._operand()[0]))
            self._variables.notes.append(f"line {self._line}: '{file}' is taken as being there")
            return lambda: True
        if not self.items or (self.items[-1][1] and self.items[-1][0] in (*_JOINTS, ")")):
            if first.startswith("-") and is_operator:
                self.refuse()
            return lambda: self._known(first) != ""
        operator, is_operator = self._operand()
        if not is_operator or not self.items or operator not in (*_NUMBERS, "=", "==", "!=", "=~"):
            self.refuse()
        other = self._operand()[0]
        if isinstance(other, _Regex):
            return lambda: self._fits(self._known(first), other)
        if operator == "=~":
            self.refuse()
        if isinstance(other, _Pattern):
            if operator in _NUMBERS:
                self.refuse()
            return lambda: fnmatchcase(self._known(first), self._known(other.form)) == (operator != "!=")
        if operator in _NUMBERS:
            number = self._variables.number
            return lambda: _NUMBERS[operator](number(first, self._line), number(other, self._line))
        return lambda: (self._known(first) == self._known(other)) == (operator != "!=")

    def _fits(self, text: str, form: _Regex) -> bool:
        """Whether a form is in a text; BASH_REMATCH gets the match and its groups."""
        pieces = [(self._known(piece), is_quoted) for piece, is_quoted in form.pieces]
        found = matched(pieces, text, f"{self._variables.where}: line {self._line}")
        self._variables.grow(found.steps, f"line {self._line}")
        self._variables.assign("BASH_REMATCH", found.texts or [])
        return found.texts is not None

    def _is_set(self, name: str) -> bool:
        """Whether a variable has a value, or an array an item; without a place, it is that at 0."""
        name, _, key = name.partition("[")
        key = self._known(key.removesuffix("]") or "0")
        name = self._variables.aliases.get(name, name)
        value = self._variables.values.get(name, self._variables.given.get(name))
        if value is None or isinstance(value, Table):
            return value is not None and value.get(key) is not None
        if key in ("@", "*"):
            return value != []
        place = self._variables.place_of(key, self._line)
        return place == 0 if isinstance(value, str) else -len(value) <= place < len(value)

    def _known(self, text: str) -> str:
        text = without_unset(text)
        if missing_in(text):
            raise ask(text, f"{self._variables.where}: line {self._line}", "a condition")
        return text

    def _operand(self) -> tuple[str, bool]:
        if not self.items:
            self.refuse()
        return self.items.pop()

    def _taken(self, *texts: str) -> bool:
        if self.items and self.items[-1][1] and self.items[-1][0] in texts:
            self.items.pop()
            return True
        return False
