"""The data of the page, and the page: one HTML file with its style and program inside."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.lazy import NDArray, np
from dse.base.pages import TABLES, joined, page_style, script_json, template_environment
from dse.base.units import format_bytes, format_duration_ns
from dse.collectives.page.layout import layout
from dse.collectives.page.ways_back import arrivals, critical_path
from dse.collectives.problem.problem import LinkModel
from dse.collectives.problem.schedule import Schedule
from dse.collectives.problem.settings import Network
from dse.collectives.robust.summary import PERCENTS

TEMPLATES = Path(__file__).parent / "templates"
MOST_SENDS = 20_000  # above, links are drawn by how busy they are, and no chunk moves
_BINS = 200
_MOST_LINKS = 20_000
_MOST_LATE = 500
_MOST_CRITICAL = 400


def render_page(schedule: Schedule, network: Network, summary: dict[str, Any]) -> str:
    """Return the page of a schedule; it loads nothing, and runs without a network."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(
        duration=lambda ps: format_duration_ns(ps / 1000),
        size=format_bytes,
        percent=lambda x: f"{100 * x:.2f}",
    )
    data = page_data(schedule, network)
    return environment.get_template("schedule.html").render(
        summary=summary,
        facts=_facts(summary),
        is_animated="sends" in data,
        fixed=sorted(summary["fixed_algorithms"].items(), key=lambda item: item[1]),
        spread=spread_plot(summary["variance"]) if "variance" in summary else None,
        spread_size=(WIDTH, HEIGHT),
        critical=_critical(schedule, data["critical"]),
        style=page_style(TEMPLATES / "schedule.css"),
        program=joined(TEMPLATES / "schedule.js", TABLES),
        data=script_json(data),
    )


def _facts(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The rows of the question: network, collective, chunks, the model of a link, and how it was searched."""
    facts = [("network", summary["topology"]), ("collective", summary["collective"])]
    facts += [(name, str(summary[name])) for name in ("root", "group") if name in summary]
    chunks = f"{summary['chunks_per_npu']} per NPU of {format_bytes(summary['chunk_bytes'])}"
    facts.append(("chunks", chunks))
    facts += [(name, str(summary[name])) for name in LinkModel._fields]
    return [*facts, ("synthesizer", summary["synthesizer"]), ("seed", str(summary["seed"]))]


def page_data(schedule: Schedule, network: Network) -> dict[str, Any]:
    """Return what the program of the page draws; times in ps, links and nodes by number."""
    problem = schedule.problem
    graph = problem.graph
    late = arrivals(schedule)
    data: dict[str, Any] = {
        "npus": graph.npus,
        "places": layout(graph, network.sizes).tolist(),
        "time_ps": schedule.time_ps,
        "sources": graph.sources.tolist(),
        "destinations": graph.destinations.tolist(),
        "chunks": problem.collective.chunks,
        "critical": critical_path(schedule),
        "late": [column[:_MOST_LATE].tolist() for column in late],
        "missing": _waiting(late.at_ps, schedule.time_ps),
        "done_ps": _done_ps(late, graph.npus),
    }
    if len(schedule) <= MOST_SENDS:
        holdings = problem.collective.holdings()
        data["sends"] = {
            "link": schedule.link.tolist(),
            "chunk": schedule.chunk.tolist(),
            "start": schedule.start_ps.tolist(),
            "end": schedule.end_ps.tolist(),
            "held": problem.held_ps[schedule.link].tolist(),
            "reduce": [int(adds) for adds in schedule.reduce.tolist()],
        }
        data["at_first"] = [column.tolist() for column in holdings]
    if len(graph) <= _MOST_LINKS:
        data["use"] = _use(schedule).tolist()
    return data


def _use(schedule: Schedule) -> NDArray[np.int64]:
    """The share of each of `_BINS` equal parts of the time that a link is held, in per cent."""
    problem = schedule.problem
    width = max(schedule.time_ps, 1) / _BINS
    use = np.zeros((len(problem.graph), _BINS))
    first = schedule.start_ps / width
    last = (schedule.start_ps + problem.held_ps[schedule.link]) / width
    low = np.minimum(first.astype(np.int64), _BINS - 1)
    for offset in range(int((last.astype(np.int64) - low).max(initial=0)) + 1):
        column = low + offset
        share = np.clip(np.minimum(last, column + 1) - np.maximum(first, column), 0, None)
        is_in = (column < _BINS) & (share > 0)
        np.add.at(use, (schedule.link[is_in], column[is_in]), share[is_in])
    return np.round(100 * np.minimum(use, 1)).astype(np.int64)


def _waiting(at_ps: NDArray[np.int64], time_ps: int) -> list[int]:
    """How many wanted chunks are missing at the end of each of `_BINS` equal parts of the time."""
    ends = np.arange(1, _BINS + 1) * time_ps / _BINS
    counts: list[int] = (len(at_ps) - np.searchsorted(np.sort(at_ps), ends, side="right")).tolist()
    return counts


def _done_ps(late: Any, npus: int) -> list[int]:
    """When each NPU has all that it wants."""
    done = np.zeros(npus, dtype=np.int64)
    np.maximum.at(done, late.npu, late.at_ps)
    times: list[int] = done.tolist()
    return times


def _critical(schedule: Schedule, path: list[int]) -> list[dict[str, Any]]:
    """The rows of the table of the critical path, with the time that nothing forces a send to wait."""
    graph = schedule.problem.graph
    rows: list[dict[str, Any]] = []
    before = 0
    for send in path:
        link, start = int(schedule.link[send]), int(schedule.start_ps[send])
        rows.append(
            {
                "link": f"{graph.sources[link]} → {graph.destinations[link]}",
                "chunk": int(schedule.chunk[send]),
                "start": start,
                "end": int(schedule.end_ps[send]),
                "idle": max(0, start - before),
            }
        )
        before = start + int(schedule.problem.held_ps[link])
    return rows if len(rows) <= _MOST_CRITICAL else rows[-_MOST_CRITICAL:]


WIDTH, HEIGHT = 640, 240
_MOST_FIXED = 3  # more lines cannot be told apart
_TICKS = 6


class Line(NamedTuple):
    """A schedule's line: its name, and what a polyline in SVG takes."""

    name: str
    points: str


class SpreadPlot(NamedTuple):
    """Lines, and ticks of both axes: their places, and what they stand for in ps and in per cent."""

    lines: list[Line]
    ticks: list[tuple[float, int]]
    levels: list[tuple[float, int]]


def spread_plot(variance: Mapping[str, Any]) -> SpreadPlot:
    """Return the plot of `variance` in a summary: the schedule, and the best fixed algorithms by p95."""
    fixed = sorted(variance["fixed_algorithms"].items(), key=lambda item: (item[1]["p95_ps"], item[0]))
    shown = {"this schedule": variance["percentiles_ps"]}
    shown |= {name: figures["percentiles_ps"] for name, figures in fixed[:_MOST_FIXED]}
    first: int = min(times[0] for times in shown.values())
    last: int = max(max(times[-1] for times in shown.values()), first + 1)

    def place(time_ps: int) -> float:
        return round((time_ps - first) / (last - first) * WIDTH, 1)

    lines = [
        Line(
            name,
            " ".join(
                f"{place(time)},{_height(percent)}" for time, percent in zip(times, PERCENTS, strict=True)
            ),
        )
        for name, times in shown.items()
    ]
    ticks = [(place(tick), tick) for tick in _ticks(first, last)]
    return SpreadPlot(lines, ticks, [(_height(percent), percent) for percent in (0, 25, 50, 75, 100)])


def _height(percent: int) -> float:
    """Where a share of the draws stands, from the top."""
    return round(HEIGHT * (1 - percent / 100), 1)


def _ticks(first: int, last: int) -> list[int]:
    """At most `_TICKS` round times of a range."""
    least = (last - first) / _TICKS
    power = 10 ** max(0, math.floor(math.log10(max(least, 1))))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)
    return list(range(-(-first // step) * step, last + 1, step))
