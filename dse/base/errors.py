"""User errors: the line that a command prints, parts of its words, and the code with which it exits then."""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

_OF_PATHS = (errno.EACCES, errno.EIO, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOSPC, errno.EROFS)
_LONGEST_WORD = 200  # comparing takes time by the square of it


class DseError(Exception):
    """Base of every error that the user can repair; the message names what was got and what is allowed."""

    exit_code: ClassVar[int] = 2

    def __str__(self) -> str:
        """Return the message; of a word of several hundred characters only the two ends."""
        return shortened(super().__str__())


class InputError(DseError):
    """A key, file or command-line value is wrong; the message names it, its value and what is allowed."""


class NothingFits(InputError):  # noqa: N818 (what is found, not only an error)
    """A question is well put, and its one answer does not exist: no plan, partition or job keeps its limits.

    Commands that print this as an answer return `exit_code` too. Tables of a study end with 0.
    """

    exit_code = 1


class SimulationError(DseError):
    """A point cannot be evaluated; a sweep makes it a row of status `failed`.

    For example a collective without an algorithm, or a user's own program that crashes.
    """


class SimulationTimeout(DseError):  # noqa: N818 (a status of results, not only an error)
    """The evaluation of a point ran too long. A sweep makes it a row of status `timeout`."""


class Cancelled(Exception):  # noqa: N818 (what another thread asked for)
    """The engine was told to stop, by `dse.base.cancellation`; whoever told it so expects this."""


@contextlib.contextmanager
def naming_paths() -> Iterator[None]:
    """Turn an OSError that only a path of the user or its disk can have into an InputError that names it."""
    try:
        yield
    except OSError as error:
        if error.errno not in _OF_PATHS or error.filename is None:
            raise
        raise InputError(f"{os.fsdecode(error.filename)}: {error.strerror}") from None


def excerpt(text: object, most: int = 60) -> str:
    """Return the beginning of a text that a file holds, for a message of one line."""
    line = str(text)
    line = line if len(line) <= most else f"{line[:most]}…"
    return "".join(c if c.isprintable() else "?" for c in line)


def shortened(text: str, most: int = 300) -> str:
    """Return a text in which a word of more than `most` characters, such as a number, is its two ends."""
    return re.sub(rf"\S{{{most + 1},}}", lambda word: f"{word[0][:100]}…{word[0][-20:]}", text)


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
