"""Lines of a log, one by one: of bounded length, without colours, whatever bytes the file has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dse.base.files import regular_file

_MOST_BYTES = 2**16  # of a piece that is read at once; longer lines come in pieces
_COLOUR = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]")


def log_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, also those that progress bars overwrite; bytes that are no text are marks.

    The last word of a line that is cut off is left out, as it may be half a number.

    Raises:
        InputError: the file cannot be read, or is a pipe or a device.
    """
    with regular_file(path) as file:
        while piece := file.readline(_MOST_BYTES):
            *whole, last = piece.decode("utf-8", errors="replace").split("\r")
            yield from map(_plain, whole)
            yield _plain(last if last.endswith("\n") else _without_last_word(last))


def _without_last_word(line: str) -> str:
    """A line that is cut off, up to the last blank."""
    if not line or line[-1].isspace():
        return line
    return "".join(line.rsplit(maxsplit=1)[:-1])


def _plain(line: str) -> str:
    return _COLOUR.sub("", line) if "\x1b" in line else line
