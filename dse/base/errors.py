"""User errors: what a command line prints in one line, and the code with which it exits then."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import ClassVar

from dse.base.texts import shortened

_OF_PATHS = (errno.EACCES, errno.EIO, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOSPC, errno.EROFS)


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
