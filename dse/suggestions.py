"""The nearest known word to a misspelt one, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `"; did you mean 'nearest'?"`, or an empty string if nothing among `known` comes near."""
    nearest = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
