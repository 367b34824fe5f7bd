"""The nearest known word to a misspelt one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_WORD = 200  # comparing takes time by the square of it


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'nearest'?"`, or an empty string if nothing among `known` comes near."""
    if len(word) > _LONGEST_WORD:
        return ""
    nearest = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def unknown(problem: str, word: str, known: Iterable[str], listing: str) -> str:
    """Return `problem; did you mean 'nearest'? Listing`: the hint stands before a list, which may be long.

    `listing` begins with a small letter, such as `allowed are a, b`; without a hint it follows a semicolon.
    """
    hint = did_you_mean(word, known)
    return f"{problem}{hint} {listing[:1].upper()}{listing[1:]}" if hint else f"{problem}; {listing}"
