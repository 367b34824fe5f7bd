"""Texts on a terminal: those of others without characters that command it, numbers of things; shared JSON."""

from __future__ import annotations

import functools
import json
import re
from typing import Any


def printable(text: str) -> str:
    """Return a text with an escape sequence for every character that shows nothing, such as ESC."""
    if text.isprintable():
        return text
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in text)


def excerpt(text: object, most: int = 60) -> str:
    """Return the beginning of a text that a file holds, for a message of one line."""
    line = str(text)
    line = line if len(line) <= most else f"{line[:most]}…"
    return "".join(c if c.isprintable() else "?" for c in line)


def is_whole(text: str) -> bool:
    """Whether a text has whole characters only: JSON can write halves of them, which no file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def shortened(text: str, most: int = 300) -> str:
    """Return a text in which a word of more than `most` characters, such as a number, is its two ends."""
    return re.sub(rf"\S{{{most + 1},}}", lambda word: f"{word[0][:100]}…{word[0][-20:]}", text)


def cut(text: str, most: int = 60) -> str:
    """Return a text of at most so many characters, the last of which then says that there are more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def one_line(text: object) -> str:
    """Return a text with single blanks for line ends and several blanks."""
    return " ".join(str(text).split())


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with what it counts: 1 stage, 2 stages; `several` where an s does not make it so."""
    return f"{number} {one}" if number == 1 else f"{number} {several or one + 's'}"


@functools.lru_cache(maxsize=8192)
def shared_json(text: str | bytes) -> Any:
    """Return the values of a stored text, of which studies have thousands; no caller changes them."""
    return json.loads(text)
