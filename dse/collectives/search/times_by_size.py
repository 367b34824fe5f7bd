"""The time of a schedule by the size of its chunks: convex and piecewise linear, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.replay import Replay

_LARGEST_CHUNK = Fraction(1 << 42)
# Durations are made whole numbers with as many binary digits as fit: no way passes for a longer one.
_BITS = 61
_MOST_DIGITS = 20


class Line(NamedTuple):
    """The time of one way through a schedule: `base_ps` + `ps_per_byte` * bytes of a chunk."""

    base_ps: Fraction
    ps_per_byte: Fraction

    def time_ps(self, chunk_bytes: Fraction | int) -> Fraction:
        """The time of this way; not floored."""
        return self.base_ps + self.ps_per_byte * chunk_bytes


@dataclass(frozen=True, eq=False)
class Curve:
    """How long a schedule takes, by the bytes of a chunk: the largest of `lines`, which ascend by slope.

    Links keep their order of sends; times are not floored, which is at most 1 ps (or ns) per send on the way
    more than the schedule takes. `chunk_bytes` is the size that the schedule was made for.
    """

    schedule: Schedule
    lines: tuple[Line, ...]

    @property
    def chunk_bytes(self) -> Fraction:
        """The size that the schedule was made for."""
        return self.schedule.problem.chunk_bytes

    def time_ps(self, chunk_bytes: Fraction | int) -> Fraction:
        """The time with chunks of a size."""
        return max(line.time_ps(chunk_bytes) for line in self.lines)


def curve(schedule: Schedule) -> Curve:
    """Return the time of a schedule by chunk size (docs/synthesis.md).

    Pieces are found by bisection: where two known ways take equally long, the longest way is a third one, or
    there is none between them.

    Raises:
        InputError: switches cut through, so that times are not those of kinds of links.
    """
    if schedule.problem.cuts_through:
        raise InputError(
            "the time by size is known for forwarding=stored only; synthesise with that, as training steps do"
        )
    ways = _Ways(schedule)
    low, high = ways.longest(Fraction(0)), ways.longest(_LARGEST_CHUNK)
    found = {low, high}
    open_pairs = [(low, high)]
    while open_pairs:
        flat, steep = open_pairs.pop()
        if steep.ps_per_byte <= flat.ps_per_byte:
            continue
        meet = (flat.base_ps - steep.base_ps) / (steep.ps_per_byte - flat.ps_per_byte)
        between = ways.longest(meet)
        if between.time_ps(meet) > flat.time_ps(meet):
            found.add(between)
            open_pairs += [(flat, between), (between, steep)]
    return Curve(schedule, tuple(_upper(found)))


def _upper(lines: set[Line]) -> list[Line]:
    """The lines that are the highest somewhere, by slope."""
    steepest: dict[Fraction, Line] = {}
    for line in lines:
        other = steepest.get(line.ps_per_byte)
        if other is None or other.base_ps < line.base_ps:
            steepest[line.ps_per_byte] = line
    hull: list[Line] = []
    for line in sorted(steepest.values(), key=lambda each: each.ps_per_byte):
        if hull and line.base_ps >= hull[-1].base_ps:
            hull.clear()  # nowhere is a flatter line that starts lower the highest
        while len(hull) > 1 and _meet(hull[-2], line) <= _meet(hull[-2], hull[-1]):
            hull.pop()
        hull.append(line)
    return hull


def _meet(flat: Line, steep: Line) -> Fraction:
    return (flat.base_ps - steep.base_ps) / (steep.ps_per_byte - flat.ps_per_byte)


class _Ways:
    """Finds the longest way through a schedule for any size."""

    def __init__(self, schedule: Schedule) -> None:
        problem = schedule.problem
        bytes_per_gb = 10**9 if problem.model.gb == "1e9" else 2**30
        self.kind_of = problem.graph.kind_of
        self.latency_ps = [kind.latency_ns * 1000 for kind in problem.graph.kinds]
        self.ps_per_byte = [
            Fraction(10**12) / (kind.bandwidth_gbps * bytes_per_gb) for kind in problem.graph.kinds
        ]
        self.is_total = problem.model.occupancy == "total"
        self.replay = Replay(schedule)
        self.steps = len(schedule)

    def longest(self, chunk_bytes: Fraction) -> Line:
        """Return the longest way for chunks of a size."""
        if not self.steps:
            return Line(Fraction(0), Fraction(0))
        most = int(max(self.latency_ps) + max(self.ps_per_byte) * chunk_bytes + 1) * self.steps
        digits = 0
        critical = None
        for _ in range(2):  # first roughly, for how many digits there is room
            digits += min(_MOST_DIGITS, _BITS - most.bit_length())
            scale = Fraction(2) ** digits
            held = self._scaled(chunk_bytes, scale, with_latency=self.is_total)
            arrival = self._scaled(chunk_bytes, scale, with_latency=True)
            critical = self.replay.critical(arrival, held)
            most = int(critical.times_ps[0]) + self.steps + 1
        assert critical is not None
        kinds = len(self.latency_ps)
        arrivals, waits = (
            np.bincount(self.kind_of, column, kinds).astype(np.int64).tolist()
            for column in (critical.arrivals, critical.waits)
        )
        base = sum(
            (
                latency * (arrivals[kind] + waits[kind] * self.is_total)
                for kind, latency in enumerate(self.latency_ps)
            ),
            Fraction(0),
        )
        slope = sum(
            (each * (arrivals[kind] + waits[kind]) for kind, each in enumerate(self.ps_per_byte)), Fraction(0)
        )
        return Line(base, slope)

    def _scaled(self, chunk_bytes: Fraction, scale: Fraction, *, with_latency: bool) -> NDArray[np.int64]:
        times = [
            min(
                int((latency * with_latency + each * chunk_bytes) * scale), 1 << _BITS
            )  # of links in use less
            for latency, each in zip(self.latency_ps, self.ps_per_byte, strict=True)
        ]
        return np.array(times, dtype=np.int64)[self.kind_of][:, None]
