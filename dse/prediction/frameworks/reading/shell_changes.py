"""Values of shell variables as ${NAME%PATTERN} and its kin change them: cut, replaced, or in capitals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from typing import NamedTuple

from dse.base.errors import InputError, excerpt

SIGNS = ("##", "#", "%%", "%", "//", "/", ",,", ",", "^^", "^", ":")
"""Signs between a name and a pattern; longer ones come first."""

_CLASSES = {"alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "lower": "a-z", "upper": "A-Z"}
_CLASSES |= {"space": " \t\n\r\f\v", "blank": " \t", "xdigit": "0-9a-fA-F"}
_CLASS = re.compile(r"\[:([a-z]+):\]")
_MOST_PATTERN = 200
_MOST_TEXT = 10_000
_CASES: dict[str, Callable[[str], str]] = {
    ",,": str.lower,
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    "^": lambda text: text[:1].upper() + text[1:],
}


class Operand(NamedTuple):
    """A `pattern` as fnmatch has it, and a text to put there; `plain` is all that stands behind the sign."""

    plain: str
    pattern: str = ""
    new: str = ""


def globbed(pieces: Iterable[tuple[str, bool]]) -> str:
    """Return a pattern of bash as fnmatch has it, from texts and whether each is quoted."""
    return "".join(
        re.sub(r"[*?[]", r"[\g<0>]", text)
        if is_quoted
        else _CLASS.sub(lambda found: _CLASSES.get(found[1], found[0]), text).replace("[^", "[!")
        for text, is_quoted in pieces
    )


def changed(text: str, sign: str, operand: Operand, number: Callable[[str], int], where: str) -> str:
    """Return a value as bash changes it.

    Args:
        text: the value.
        sign: one of `SIGNS`.
        operand: a pattern with its new text, or START:LENGTH.
        number: returns the number that an expression stands for.
        where: how messages call the place.

    Raises:
        InputError: the value or the pattern is too long, or a case is changed where a pattern fits only.
    """
    stars = operand.pattern.replace("[*]", "").count("*")
    if len(text) > _MOST_TEXT or len(operand.plain) > _MOST_PATTERN or stars > 1:
        raise InputError(
            f"{where}: {excerpt(operand.plain)} is no pattern that is read; it has at most one * and "
            f"{_MOST_PATTERN} characters, and the value at most {_MOST_TEXT}"
        )
    if sign == ":":
        return _piece(text, operand.plain, number)
    if sign in _CASES:
        if operand.plain:
            raise InputError(f"{where}: {sign} is read without a pattern")
        return _CASES[sign](text)
    if sign in ("/", "//"):
        return _replaced(text, operand, sign == "//")
    return _cut(text, operand.pattern, sign)


def _piece(text: str, operand: str, number: Callable[[str], int]) -> str:
    start, has_length, length = operand.partition(":")
    first = number(start)
    first = max(0, len(text) + first) if first < 0 else first
    if not has_length:
        return text[first:]
    count = number(length)
    return text[first : len(text) + count if count < 0 else first + count]


def _replaced(text: str, operand: Operand, everywhere: bool) -> str:
    pattern = operand.pattern
    ends = {} if everywhere else {"#": (r"\A", ""), "%": ("", r"\Z")}
    begin, end = ends.get(pattern[:1], ("", ""))
    pattern = pattern[1:] if begin or end else pattern
    if not pattern and not begin and not end:
        return text
    form = f"{begin}{_form(pattern)}{end}"
    new = operand.new
    return re.sub(
        form,
        lambda at: new if at[0] or not (everywhere and text) else "",
        text,
        count=0 if everywhere else 1,
        flags=re.DOTALL,
    )


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
