"""Reading the log of a run of ASTRA-sim."""

from __future__ import annotations

import re
from pathlib import Path

from dse.base.errors import InputError
from dse.simulation.simulators.report import read_report
from dse.simulation.validation.cases import Value

# What a C++ program, its libraries or its shell print when it ends by force. A line with a level is not such
# a line: the reference logs exceptions that it swallows, and goes on.
_CRASH = re.compile(
    r"Assertion\b.*\bfailed|terminate called|Segmentation fault|Floating point exception|Bus error"
    r"|Illegal instruction|Aborted|core dumped|std::bad_alloc|out of memory|Killed\b"
    r"|(?:double free|corrupted|munmap_chunk|malloc|realloc|free)\(\)?: |double free or corruption"
    r"|stack smashing|ERROR: \w+Sanitizer|exit(?:ed with)? (?:code|status)\W{1,3}-?[1-9]"
)
# Lines with a level after which ASTRA-sim of 2026 ends with exit status 1.
_STOP = re.compile(r"communicator group \S+ not found|#+ Exiting because")
_LEVEL = r"\[(?:trace|debug|info|warning|error|critical)\]"
_LEVELLED = re.compile(_LEVEL)
REPORT = re.compile(rf"sys\[\d+\][ ,.]|{_LEVEL} ".encode())
"""What a log of ASTRA-sim has, and hardly another file."""
_LINE_LENGTH = 160


def read_log(path: Path) -> dict[int, dict[str, Value]]:
    """Return the figures of every rank that finished, by the names of `RankMetrics`.

    `%` and the reference's `$` are both accepted; a peak memory is bytes, or a text with a unit.

    Raises:
        InputError: the file cannot be read, or reports a rank twice.
    """
    try:
        return read_report(_lines(path))
    except InputError as error:
        raise InputError(f"{path}, {error}") from None


def crash_in_log(path: Path) -> str | None:
    """Return the first line that says that the program ended by force, such as a failed assertion.

    Raises:
        InputError: the file cannot be read.
    """
    for number, line in enumerate(_lines(path), 1):
        if (_CRASH.search(line) and not _LEVELLED.search(line)) or _STOP.search(line):
            text = "".join(c for c in " ".join(line.split()) if c.isprintable())
            return f"line {number} of {path.name}: {text[:_LINE_LENGTH]}"
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
