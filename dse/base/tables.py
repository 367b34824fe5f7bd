"""Tables of text for terminals: columns of cells, set to the left or to the right."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

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
