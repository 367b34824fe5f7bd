"""Texts on a terminal: those of others without characters that command it, numbers of things; shared JSON."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias


def printable(text: str) -> str:
    """Return a text with an escape sequence for every character that shows nothing, such as ESC."""
    if text.isprintable():
        return text
    return "".join(part if part.isprintable() else repr(part)[1:-1] for part in text)


def is_whole(text: str) -> bool:
    """Whether a text has whole characters only: JSON can write halves of them, which no file can hold."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


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


Line: TypeAlias = "str | Sequence[str]"  # plain text, or the cells of a row of a table


def aligned(lines: Sequence[Line], left: Collection[int] = (0,)) -> list[str]:
    """Pad the cells of rows to columns, those in `left` to the left, and keep plain lines as they are.

    Rows must have equally many cells.
    """
    rows = [line for line in lines if not isinstance(line, str)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [line if isinstance(line, str) else _padded(line, widths, left) for line in lines]


def _padded(cells: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    padded = (
        cell.ljust(width) if column in left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a header and rows as columns; a column of numbers is set to the right."""
    columns = range(len(header))
    left = [column for column in columns if any(row[column][:1] not in "-0123456789" for row in rows)]
    return aligned([header, *rows], left)


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Return lines of a name and a value; an empty name goes on with the one before."""
    return "\n".join(aligned(rows, left=(0, 1)))
