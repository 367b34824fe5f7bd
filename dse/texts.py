"""Texts of others on a terminal: names and messages without characters that command it."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text with an escape sequence for every character that shows nothing, such as ESC."""
    if text.isprintable():
        return text
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in text)
