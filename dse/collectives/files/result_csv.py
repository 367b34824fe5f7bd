"""BEAN TACOS's CSV of a schedule: a line per link with its chunks; written, and read in both of its forms."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dse.base.errors import InputError, excerpt
from dse.base.files import read_text
from dse.base.lazy import np
from dse.base.numbers import exact_decimal, whole_number
from dse.collectives.files.content import Columns, ScheduleFile
from dse.collectives.problem.schedule import Schedule
from dse.inputs.networks import LinkGraph
from dse.inputs.networks.csv import decimal

_HEADER = "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ns:ns)"
_SIMPLE = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,3})0*)?", re.ASCII)
_MOST_PS = 1 << 62


def schedule_csv(schedule: Schedule, synthesis_s: float = 0.0) -> Iterator[str]:
    """Yield the lines of a schedule: a header, then every link, also unused ones, with its sends by start.

    Times are exact decimals of ns. A fourth field `:r` marks a send that adds, which other readers refuse.
    """
    problem = schedule.problem
    graph = problem.graph
    yield f"NPUs Count,{graph.npus}"
    yield f"Links Count,{len(graph)}"
    yield f"Chunks Count,{problem.collective.chunks}"
    yield f"Chunk Size,{decimal(problem.chunk_bytes)}"
    yield f"Collective Time,{in_ns(schedule.time_ps)},ns"
    yield f"Synthesis Time,{synthesis_s:.3f},s"
    yield _HEADER
    order = np.lexsort((schedule.start_ps, schedule.link))
    cuts = np.searchsorted(schedule.link[order], np.arange(len(graph) + 1)).tolist()
    columns = (schedule.chunk, schedule.start_ps, schedule.end_ps, schedule.reduce)
    cells = [
        f"{chunk}:{in_ns(start)}:{in_ns(end)}{':r' if adds else ''}"
        for chunk, start, end, adds in zip(*(column[order].tolist() for column in columns), strict=True)
    ]
    kinds = [f"{decimal(latency)},{decimal(bandwidth)}" for latency, bandwidth in graph.kinds]
    ends = (graph.sources.tolist(), graph.destinations.tolist(), graph.kind_of.tolist())
    for link, (source, destination, kind) in enumerate(zip(*ends, strict=True)):
        yield ",".join([f"{source},{destination},{kinds[kind]}", *cells[cuts[link] : cuts[link + 1]]])


def in_ns(time_ps: int) -> str:
    """Return a time as an exact decimal of ns, with at least one digit after the point."""
    whole, rest = divmod(time_ps, 1000)
    return f"{whole}.{f'{rest:03d}'.rstrip('0') or '0'}"


def read_schedule_csv(path: Path) -> ScheduleFile:
    """Read the form that is written, and that of the README: `chunk:arrival:departure` in whole ps.

    "ps" in the fifth name of the header means ps, else times are ns; the larger of the two times is the
    arrival. Empty cells and `None` are ignored. Times that are no whole ps are rounded to the nearest one.

    Raises:
        InputError: it cannot be read; names the file, the line, what was got and what is allowed.
    """
    reader = _Reader(path)
    for number, row in _rows(path):
        reader.line = number
        reader.take(row)
    return reader.result()


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = csv.reader(read_text(path).splitlines())
    try:
        for row in lines:
            if row:
                yield lines.line_num, row
    except csv.Error as error:
        raise InputError(f"{path}, line {lines.line_num}: {error}") from None


@dataclass
class _Reader:
    path: Path
    line: int = 1
    head: dict[str, tuple[int, str]] = field(default_factory=dict)
    unit_ps: int | None = None
    links: list[tuple[int, int, Fraction, Fraction]] = field(default_factory=list)
    columns: Columns = field(default_factory=Columns)

    def fail(self, what: str) -> InputError:
        return InputError(f"{self.path}, line {self.line}: {what}")

    def take(self, row: list[str]) -> None:
        if self.unit_ps is not None:
            self.take_link([cell.strip() for cell in row])
        elif row[0].strip() == "SrcID":
            if len(row) < 5:
                raise self.fail(f"is '{excerpt(','.join(row))}'; expected {_HEADER}")
            self.unit_ps = 1 if "ps" in row[4] else 1000
        elif len(row) < 2:
            raise self.fail(f"is '{excerpt(row[0])}'; expected a name and a value, or {_HEADER}")
        else:
            self.head[row[0].strip()] = (self.line, row[1].strip())

    def take_link(self, row: list[str]) -> None:
        if len(row) < 4:
            raise self.fail(f"has {len(row)} fields; expected at least 4: SrcID,DestID,latency,bandwidth")
        source, destination = (
            self.whole(what, cell) for what, cell in zip(("SrcID", "DestID"), row, strict=False)
        )
        latency, bandwidth = self.number("latency", row[2]), self.number("bandwidth", row[3])
        if latency < 0 or bandwidth <= 0:
            got = f"latency is {excerpt(row[2])} and bandwidth {excerpt(row[3])}"
            raise self.fail(f"{got}; expected at least 0 and above 0")
        self.links.append((source, destination, latency, bandwidth))
        for cell in row[4:]:
            if cell and cell != "None":
                self.take_send(source, destination, cell)

    def take_send(self, source: int, destination: int, cell: str) -> None:
        chunk, *times = cell.split(":")
        mark = times.pop() if len(times) == 3 else ""
        if len(times) != 2 or mark not in ("", "r"):
            raise self.fail(f"'{excerpt(cell)}' is no send; expected chunk:time:time, or chunk:time:time:r")
        start, end = sorted(map(self.time_ps, times))
        self.columns.add(source, destination, self.whole("chunk", chunk), start, end, mark == "r")

    def whole(self, what: str, cell: str) -> int:
        found = whole_number(cell)
        if found is None or found >= 1 << 31:
            raise self.fail(f"{what} is '{excerpt(cell)}'; expected a whole number below 2^31")
        return found

    def number(self, what: str, cell: str) -> Fraction:
        return exact_decimal(cell, where=f"{self.path}, line {self.line}: {what}")

    def time_ps(self, cell: str) -> int:
        simple = _SIMPLE.fullmatch(cell)
        if simple and self.unit_ps == 1000:
            return int(simple[1]) * 1000 + int((simple[2] or "").ljust(3, "0"))
        time_ps = round(self.number("time", cell) * self.unit())
        if not -_MOST_PS < time_ps < _MOST_PS:
            raise self.fail(f"time is {excerpt(cell)}; it must be below 2^62 ps")
        return time_ps

    def unit(self) -> int:
        """The ps of a unit of time."""
        if self.unit_ps is None:
            self.line = 1
            raise self.fail(f"no line begins with SrcID; expected the header {_HEADER}")
        return self.unit_ps

    def result(self) -> ScheduleFile:
        self.unit()
        npus = self.stated("NPUs Count")
        nodes = max((1 + max(source, to) for source, to, *_ in self.links), default=0)
        graph = LinkGraph.of(npus or nodes, max(npus or 0, nodes), self.links)
        size, time = self.head.get("Chunk Size"), self.head.get("Collective Time")
        return ScheduleFile(
            sends=self.columns.table(),
            npus=npus,
            links=self.stated("Links Count"),
            chunks=self.stated("Chunks Count"),
            chunk_bytes=self.stated_number("Chunk Size") if size else None,
            time_ps=self.stated_time_ps() if time else None,
            graph=graph,
        )

    def stated(self, name: str) -> int | None:
        if name not in self.head:
            return None
        self.line, text = self.head[name]
        return self.whole(name, text)

    def stated_number(self, name: str) -> Fraction:
        self.line, text = self.head[name]
        value = self.number(name, text)
        if value <= 0:
            raise self.fail(f"{name} is {excerpt(text)}; it must be above 0")
        return value

    def stated_time_ps(self) -> int:
        """A Collective Time says `ns` also where it is in ps, as the sends are."""
        self.line, text = self.head["Collective Time"]
        return round(self.number("Collective Time", text) * self.unit())
