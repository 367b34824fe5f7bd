"""Lists in braces, which a shell makes several words: {A,B} and {1..8}."""

from __future__ import annotations

import re

from dse.base.errors import InputError

BRACES = re.compile(
    r"\{(-?\d{1,6}\.\.-?\d{1,6}|[\w.:/-]*(?:,[\w.:/-]*){1,99})\}(?=[ \t\r\n;&|)]|\Z)", re.ASCII
)
"""A word that is nothing but a list in braces."""
_RANGE = re.compile(r"[-\w]{1,20}\.\.[-\w]{1,20}(?:\.\.[-\w]{1,20})?", re.ASCII)
_MOST_NUMBERS = 10_000


def is_list(signs: str) -> bool:
    """Whether signs without quotes hold {A,B} or {1..3}, also within other braces."""
    lists, opened = list[bool](), 0
    for at, sign in enumerate(signs):
        if sign == "{":
            lists.append(False)
            opened = at + 1
        elif sign == "," and lists:
            lists[-1] = True
        elif sign == "}" and lists and (lists.pop() or _RANGE.fullmatch(signs, opened, at)):
            return True
    return False


def listed(text: str, where: str) -> list[str]:
    """Return the words of A,B,C or of 1..8 in braces.

    Raises:
        InputError: there are too many numbers.
    """
    first, is_range, last = text.partition("..")
    if not (is_range and "," not in text):
        return [word for word in text.split(",") if word]
    start, stop = int(first), int(last)
    if abs(stop - start) > _MOST_NUMBERS:
        raise InputError(f"{where}: {{{text}}} has more than {_MOST_NUMBERS} numbers, the most allowed")
    step = 1 if stop >= start else -1
    has_zeros = any(end.lstrip("-").startswith("0") and len(end.lstrip("-")) > 1 for end in (first, last))
    width = max(len(first), len(last)) if has_zeros else 0
    return [f"{number:0{width}d}" for number in range(start, stop + step, step)]
