"""The contract of a reader of logs: what it finds in one line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

NUMBER = r"([-+]?(?:\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?(?!\d)|[nN][aA][nN]|[iI]nf))"
"""The pattern of a number as logs write it, with one group."""


class Reading(NamedTuple):
    """The figures of one line; None where it says nothing.

    `seconds` are those of a step, `samples_s` sequences per second of all GPUs, `batch` sequences of a step.
    `rank` is 0 for what the framework measured of the step itself, higher for what says less: a line of rank
    1 counts only in logs without lines of rank 0. `is_average` tells that a figure is of all steps so far.
    """

    step: int | None = None
    seconds: float | None = None
    tokens_s_gpu: float | None = None
    samples_s: float | None = None
    tflops_gpu: float | None = None
    batch: int | None = None
    allocated_gib: float | None = None
    reserved_gib: float | None = None
    rank: int = 0
    is_average: bool = False

    @property
    def is_step(self) -> bool:
        """Whether it tells how long a step took."""
        return not self.seconds == self.tokens_s_gpu == self.samples_s is None


@dataclass(frozen=True)
class Reader:
    """Reads the logs of a framework.

    `read` returns what a line says, None if it is no line of this framework. It raises ValueError for a
    figure that is none. Only lines with one of `marks` are read. `memory` is which peak the framework's
    predictions count, of tensors or of the allocator.
    """

    framework: str
    marks: Sequence[str]
    read: Callable[[str], Reading | None]
    memory: Literal["allocated", "reserved"]


def pattern(text: str) -> re.Pattern[str]:
    """Return the pattern of a figure, `#` being the number."""
    return re.compile(text.replace("#", NUMBER))


def figure(pattern: re.Pattern[str], line: str) -> float | None:
    """Return the number of a pattern in a line, None where it is not there.

    Raises:
        ValueError: it is not finite and above 0.
    """
    found = pattern.search(line)
    return positive(found[1]) if found else None


def positive(text: str) -> float:
    """Return a number.

    Raises:
        ValueError: it is not finite and above 0.
    """
    value = float(text.replace(",", ""))
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{text} is not above 0")
    return value


def count(pattern: re.Pattern[str], line: str) -> int | None:
    """Return the whole number of a pattern in a line; None where it is not there."""
    found = pattern.search(line)
    return int(found[1]) if found else None
