"""Reading the log of a run of ASTRA-sim."""

from __future__ import annotations

from pathlib import Path

from dse.errors import InputError
from dse.simulators.report import read_report
from dse.validation.cases import Value


def read_log(path: Path) -> dict[int, dict[str, Value]]:
    """Return the figures of every rank that finished, by the names of `RankMetrics`.

    `%` and the reference's `$` are both accepted; a peak memory is bytes, or a text with a unit.

    Raises:
        InputError: the file cannot be read, or reports a rank twice.
    """
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return read_report(lines)
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
