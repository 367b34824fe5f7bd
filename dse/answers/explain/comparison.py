"""A comparison of two design points: what one does better than another, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.answers.explain.breakdown import Explanation
from dse.base.errors import InputError


@dataclass(frozen=True)
class Difference:
    """A figure of both points, in ns or bytes."""

    name: str
    first: int
    second: int

    @property
    def change(self) -> int:
        """The second less the first; positive if the second has more."""
        return self.second - self.first

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "first": self.first, "second": self.second, "change": self.change}


@dataclass(frozen=True)
class Comparison:
    """Two points. The changes of `parts` sum to that of `wall_time`, those of `categories` to that of `peak`.

    `peak` is None and `categories` are empty unless memory was tracked for both.
    """

    first: str
    second: str
    wall_time: Difference
    parts: tuple[Difference, ...]
    overlapped: tuple[Difference, ...]
    peak: Difference | None
    categories: tuple[Difference, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "first": self.first,
            "second": self.second,
            "wall_time_ns": self.wall_time.to_json(),
            "breakdown": [part.to_json() for part in self.parts],
            "overlapped": [axis.to_json() for axis in self.overlapped],
            "peak_memory_bytes": None if self.peak is None else self.peak.to_json(),
            "categories": [category.to_json() for category in self.categories],
        }


def compare(first: Explanation, second: Explanation) -> Comparison:
    """Compare two points, the better one first for changes that say what the other pays more.

    Raises:
        InputError: only one of them is predicted.
    """
    if first.time.parts.keys() != second.time.parts.keys():
        raise InputError(
            f"{first.label} and {second.label} have no parts in common: one is predicted, one is simulated"
        )
    peak: Difference | None = None
    categories: tuple[Difference, ...] = ()
    if first.memory is not None and second.memory is not None:
        one, other = first.memory, second.memory
        peak = Difference("peak_memory_bytes", one.peak_memory_bytes, other.peak_memory_bytes)
        categories = _differences(one.categories, other.categories)
    return Comparison(
        first=first.label,
        second=second.label,
        wall_time=Difference("wall_time_ns", first.time.wall_time_ns, second.time.wall_time_ns),
        parts=_differences(first.time.parts, second.time.parts),
        overlapped=_differences(first.time.overlapped, second.time.overlapped),
        peak=peak,
        categories=categories,
    )


def _differences(first: Mapping[str, int], second: Mapping[str, int]) -> tuple[Difference, ...]:
    return tuple(Difference(name, value, second[name]) for name, value in first.items())
