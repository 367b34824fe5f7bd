"""Extended regular expressions as `[[ TEXT =~ FORM ]]` has them: the longest of the leftmost matches.

Each search takes a bounded number of steps, because forms come from files that anybody may have written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, NoReturn

from dse.base.errors import InputError

_MOST_STEPS = 100_000
_MOST_TEXT = 250  # characters; each may take a level of recursion
_MOST_SIGNS = 500  # of a form, each of which may be a level too
_MOST_DEPTH = 20
_MOST_TIMES = 255
_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda sign: sign in " \t",
    "digit": lambda sign: sign in "0123456789",
    "lower": str.islower,
    "punct": lambda sign: sign.isprintable() and not sign.isalnum() and sign != " ",
    "space": str.isspace,
    "upper": str.isupper,
    "xdigit": lambda sign: sign in "0123456789abcdefABCDEF",
}
_ESCAPED: dict[str, Callable[[str], bool]] = {
    "w": lambda sign: sign.isalnum() or sign == "_",
    "W": lambda sign: not (sign.isalnum() or sign == "_"),
    "s": str.isspace,
    "S": lambda sign: not sign.isspace(),
}
_TIMES = re.compile(r"\{(\d{1,3})(,?)(\d{0,3})\}", re.ASCII)
_IN_BRACKETS = re.compile(r"\[:([a-z]{1,20}):\]|(.)-([^]])|(.)", re.DOTALL)
Groups = tuple[tuple[int, int], ...]
Ways = Callable[[int, Groups], Iterator[tuple[int, Groups]]]
"""From a place and the groups so far, the ends that a part of a form can reach, the longest first."""


class Match(NamedTuple):
    """A match with its groups, None if no part of the text fits; and how many steps the search took."""

    texts: list[str] | None
    steps: int


def matched(pieces: Iterable[tuple[str, bool]], text: str, where: str) -> Match:
    """Return the longest of the leftmost matches.

    Args:
        pieces: of the form, with whether each is quoted, so that its signs stand for themselves.
        text: in which the match may stand anywhere.
        where: how messages call the condition.

    Raises:
        InputError: the form is malformed, or takes too many steps.
    """
    if len(text) > _MOST_TEXT:
        raise InputError(f"{where}: =~ is read for texts of at most {_MOST_TEXT} characters")
    form = _Form(pieces, text, where)
    if len(form.signs) > _MOST_SIGNS:
        raise InputError(f"{where}: =~ is read for forms of at most {_MOST_SIGNS} characters")
    ways = form.either()
    if form.at < len(form.signs):
        form.refuse()
    for start in range(len(text) + 1):
        best = max(ways(start, ((-1, -1),) * form.groups), key=lambda way: way[0], default=None)
        if best is not None:
            end, groups = best
            inner = [text[first:last] if first >= 0 else "" for first, last in groups]
            return Match([text[start:end], *inner], form.steps)
    return Match(None, form.steps)


class _Form:
    """A reader of a form; each sign of it has whether it is quoted."""

    def __init__(self, pieces: Iterable[tuple[str, bool]], text: str, where: str) -> None:
        self.signs = [(sign, is_quoted) for piece, is_quoted in pieces for sign in piece]
        self.at, self.groups = 0, 0
        self._text, self._where = text, where
        self._depth, self.steps = 0, 0

    def refuse(self) -> NoReturn:
        """Refuse the form."""
        raise InputError(
            f"{self._where}: this form behind =~ is not read; "
            "allowed are texts, [ ], ( ), | and . ^ $ * + ? {N}"
        )

    def count(self) -> None:
        """Count a step of the search.

        Raises:
            InputError: it takes too many.
        """
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise InputError(f"{self._where}: =~ takes more than {_MOST_STEPS} steps; write a shorter form")

    def either(self) -> Ways:
        """Read forms joined by |."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            self.refuse()
        found = [self._row()]
        while self._taken("|"):
            found.append(self._row())
        self._depth -= 1
        if len(found) == 1:
            return found[0]
        return lambda at, groups: (way for one in found for way in one(at, groups))

    def _row(self) -> Ways:
        parts = list[Ways]()
        while self.at < len(self.signs) and self.signs[self.at] not in (("|", False), (")", False)):
            parts.append(self._repeated())
        return _in_a_row(parts, self.count)

    def _repeated(self) -> Ways:
        part, is_sign = self._single()
        while self.at < len(self.signs) and not self.signs[self.at][1]:
            sign = self.signs[self.at][0]
            low, high = {"*": (0, _MOST_TEXT), "+": (1, _MOST_TEXT), "?": (0, 1)}.get(sign, (-1, -1))
            if sign == "{":
                rest = "".join(one if not is_quoted else "\0" for one, is_quoted in self.signs[self.at :])
                times = _TIMES.match(rest)
                if times is None:
                    self.refuse()
                low = int(times[1])
                high = int(times[3]) if times[3] else _MOST_TEXT if times[2] else low
                self.at += times.end() - 1
            if low < 0:
                break
            if not low <= high <= _MOST_TIMES:
                self.refuse()
            self.at += 1
            part, is_sign = (
                self._run(part, low, high) if is_sign else _times(part, low, high, self.count),
                False,
            )
        return part

    def _single(self) -> tuple[Ways, bool]:
        """Read a sign, a group or an anchor; tell whether it is a single sign."""
        sign, is_quoted = self.signs[self.at]
        self.at += 1
        if is_quoted:
            return self._sign(lambda one: one == sign), True
        if sign == "(":
            number, self.groups = self.groups, self.groups + 1
            inner = self.either()
            if not self._taken(")"):
                self.refuse()
            return _kept(inner, number), False
        if sign == "^":
            return lambda at, groups: iter([(at, groups)] if at == 0 else []), False
        if sign == "$":
            return lambda at, groups: iter([(at, groups)] if at == len(self._text) else []), False
        if sign == ".":
            return self._sign(lambda _: True), True
        if sign == "[":
            return self._sign(self._set()), True
        if sign == "\\" and self.at < len(self.signs):
            escaped = self.signs[self.at][0]
            self.at += 1
            if escaped in "bB<>`'123456789":
                self.refuse()
            return self._sign(_ESCAPED.get(escaped, lambda one: one == escaped)), True
        if sign in "*+?{\\":
            self.refuse()
        return self._sign(lambda one: one == sign), True

    def _set(self) -> Callable[[str], bool]:
        """Read what stands in brackets, behind the first of them."""
        rest = "".join(sign for sign, _ in self.signs[self.at :])
        found, at = list[Callable[[str], bool]](), int(rest.startswith("^"))
        is_negated, first = at == 1, at
        while at < len(rest) and (rest[at] != "]" or at == first):
            item = _IN_BRACKETS.match(rest, at)
            if item is None or rest.startswith(("[.", "[="), at) or (item[1] and item[1] not in _CLASSES):
                self.refuse()
            at = item.end()
            if item[1]:
                found.append(_CLASSES[item[1]])
            elif item[2]:
                found.append(lambda one, low=item[2], high=item[3]: low <= one <= high)  # type: ignore[misc]
            else:
                found.append(lambda one, sign=item[4]: one == sign)  # type: ignore[misc]
        if at >= len(rest):
            self.refuse()
        self.at += at + 1
        return lambda one: any(test(one) for test in found) != is_negated

    def _sign(self, fits: Callable[[str], bool]) -> Ways:
        def ways(at: int, groups: Groups) -> Iterator[tuple[int, Groups]]:
            self.count()
            if at < len(self._text) and fits(self._text[at]):
                yield at + 1, groups

        return ways

    def _run(self, one: Ways, low: int, high: int) -> Ways:
        """A single sign, several times: no recursion is needed."""

        def ways(at: int, groups: Groups) -> Iterator[tuple[int, Groups]]:
            end = at
            while end - at < high and next(one(end, groups), None) is not None:
                end += 1
            for last in range(end, at + low - 1, -1):
                yield last, groups

        return ways

    def _taken(self, sign: str) -> bool:
        if self.at < len(self.signs) and self.signs[self.at] == (sign, False):
            self.at += 1
            return True
        return False


def _in_a_row(parts: Sequence[Ways], count_step: Callable[[], None]) -> Ways:
    def ways(at: int, groups: Groups, number: int = 0) -> Iterator[tuple[int, Groups]]:
        count_step()
        if number == len(parts):
            yield at, groups
            return
        for end, further in parts[number](at, groups):
            yield from ways(end, further, number + 1)

    return ways


def _times(part: Ways, low: int, high: int, count_step: Callable[[], None]) -> Ways:
    def ways(at: int, groups: Groups, count: int = 0) -> Iterator[tuple[int, Groups]]:
        count_step()
        if count < high:
            for end, further in part(at, groups):
                if end > at or count < low:
                    yield from ways(end, further, count + 1)
        if count >= low:
            yield at, groups

    return ways


def _kept(inner: Ways, number: int) -> Ways:
    """A group: its place is kept by its number."""

    def ways(at: int, groups: Groups) -> Iterator[tuple[int, Groups]]:
        for end, found in inner(at, groups):
            yield end, (*found[:number], (at, end), *found[number + 1 :])

    return ways
