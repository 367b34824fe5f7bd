"""Times of plans for people: ms of the cost models as seconds or milliseconds, like every other command."""

from __future__ import annotations

from dse.base.units import format_duration_ns

_NS_PER_MS = 1e6


def duration(ms: float) -> str:
    """Return a time with its unit: 47724.98 gives "47.72 s", 0 gives "0"."""
    if ms < 0:
        return f"-{duration(-ms)}"
    return format_duration_ns(_NS_PER_MS * ms) if ms else "0"


def difference(ms: float) -> str:
    """Return a difference of times with its sign and unit: -48 gives "-48 ms"."""
    return f"{'-' if ms < 0 else '+'}{duration(abs(ms)) if ms else '0 ms'}"
