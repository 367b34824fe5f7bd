"""Values of shell variables as ${NAME%PATTERN} and its kin change them: cut, replaced, or in capitals."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from dse.base.errors import InputError, excerpt

SIGNS = ("##", "#", "%%", "%", "//", "/", ",,", ",", "^^", "^", ":")
"""What may stand between a name and a pattern; longer ones come first."""

_MOST_PATTERN = 200
_MOST_TEXT = 10_000
_CASES: dict[str, Callable[[str], str]] = {
    ",,": str.lower,
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    "^": lambda text: text[:1].upper() + text[1:],
}


def changed(text: str, sign: str, operand: str, number: Callable[[str], int], where: str) -> str:
    """Return a value as bash changes it.

    Args:
        text: the value.
        sign: one of `SIGNS`.
        operand: a pattern, PATTERN/TEXT, or START:LENGTH.
        number: returns the number that an expression stands for.
        where: how messages call the place.

    Raises:
        InputError: the value or the pattern is too long, or a case is changed where a pattern fits only.
    """
    if len(text) > _MOST_TEXT or len(operand) > _MOST_PATTERN or operand.count("*") > 1:
        raise InputError(
            f"{where}: {excerpt(operand)} is no pattern that is read; it has at most one * and "
            f"{_MOST_PATTERN} characters, and the value at most {_MOST_TEXT}"
        )
    if sign == ":":
        return _piece(text, operand, number)
    if sign in _CASES:
        if operand:
            raise InputError(f"{where}: {sign} is read without a pattern")
        return _CASES[sign](text)
    if sign in ("/", "//"):
        return _replaced(text, operand, sign == "//")
    return _cut(text, operand, sign)


def _piece(text: str, operand: str, number: Callable[[str], int]) -> str:
    start, has_length, length = operand.partition(":")
    first = number(start)
    first = max(0, len(text) + first) if first < 0 else first
    if not has_length:
        return text[first:]
    count = number(length)
    return text[first : len(text) + count if count < 0 else first + count]


def _replaced(text: str, operand: str, everywhere: bool) -> str:
    pattern, _, new = operand.partition("/")
    ends = {"#": (r"\A", ""), "%": ("", r"\Z")}.get(pattern[:1], ("", ""))
    pattern = pattern[1:] if any(ends) else pattern
    if not pattern:
        return text
    form = f"{ends[0]}{_form(pattern)}{ends[1]}"
    return re.sub(form, lambda _: new, text, count=0 if everywhere else 1, flags=re.DOTALL)


def _cut(text: str, pattern: str, sign: str) -> str:
    """Cut off the shortest or the longest begin or end that a pattern fits."""
    form = re.compile(_form(pattern), re.DOTALL)
    places = range(len(text) + 1)
    if sign[0] == "#":
        fits = [at for at in places if form.fullmatch(text, 0, at)]
        return text[(max if sign == "##" else min)(fits, default=0) :]
    fits = [at for at in places if form.fullmatch(text, at)]
    return text[: (min if sign == "%%" else max)(fits, default=len(text))]


def _form(pattern: str) -> str:
    return translate(pattern).removeprefix("(?s:").rpartition(")")[0]
