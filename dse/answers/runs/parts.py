"""Where the time of a run goes, as plain data that text and page share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dse.base.units import format_duration_ns

MOST_LINES = 8
_LEAST_WIDTH = 20


class Share(NamedTuple):
    """A part of a time: its name, its length, and what it is or how often it occurs."""

    name: str
    ns: int
    meaning: str = ""


class Section(NamedTuple):
    """A list of shares under a title."""

    title: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Parts:
    """The wall time of a run as its slowest rank spends it, and what else explains it; `notes` for people."""

    wall_time_ns: int
    rank: int
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data: each section as a list of {name, ns, meaning}."""
        sections = {section.title: [share._asdict() for share in section.shares] for section in self.sections}
        return {**asdict(self), "sections": sections, "notes": list(self.notes)}

    def lines(self) -> list[str]:
        """Lines for people."""
        found = [f"wall time {format_duration_ns(self.wall_time_ns)}, as rank {self.rank} spends it:"]
        for number, section in enumerate(self.sections):
            found += ["", f"{section.title}:"] if number else []
            width = max(_LEAST_WIDTH, *(len(share.name) for share in section.shares))
            found += [self._line(share, width) for share in section.shares]
        return found

    def _line(self, share: Share, width: int) -> str:
        percent = 100 * share.ns / self.wall_time_ns if self.wall_time_ns else 0.0
        line = f"  {share.name:<{width}}{format_duration_ns(share.ns):>12}{percent:>8.2f} %  {share.meaning}"
        return line.rstrip()


def largest(times_ns: Mapping[str, int], counts: Mapping[str, int] | None = None) -> tuple[Share, ...]:
    """Return the largest times as shares, with their counts; smaller ones are summed up."""
    ordered = sorted(times_ns.items(), key=lambda item: (-item[1], item[0]))
    shown = [Share(name, ns, _counted(name, counts)) for name, ns in ordered[:MOST_LINES] if ns]
    rest = sum(ns for _, ns in ordered[MOST_LINES:])
    return (*shown, Share(f"{len(ordered) - MOST_LINES} others", rest)) if rest else tuple(shown)


def _counted(name: str, counts: Mapping[str, int] | None) -> str:
    return f"{counts[name]} x" if counts else ""


def sections(found: Iterable[Section]) -> tuple[Section, ...]:
    """Return the sections that have a share."""
    return tuple([section for section in found if section.shares])
