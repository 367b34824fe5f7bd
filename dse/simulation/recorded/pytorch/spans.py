"""Spans of time on threads, and whether one of them holds a moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Spans:
    """Spans on threads, which may overlap; each holds its begin and not its end."""

    def __init__(self, spans: Iterable[tuple[int, int, int]]) -> None:
        """`spans` are thread, begin and end, in any order."""
        ordered: dict[int, list[tuple[int, int]]] = {}
        for thread, begin, end in sorted(spans):
            ordered.setdefault(thread, []).append((begin, end))
        self._begins = {thread: [begin for begin, _ in own] for thread, own in ordered.items()}
        self._reached = {
            thread: list(accumulate((end for _, end in own), max)) for thread, own in ordered.items()
        }

    def hold(self, thread: int, time: int) -> bool:
        """Return whether a span on a thread holds a moment."""
        at = bisect_right(self._begins.get(thread, ()), time) - 1
        return at >= 0 and time < self._reached[thread][at]
