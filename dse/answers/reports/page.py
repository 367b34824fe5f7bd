"""The page of a report: one HTML file with its data, style, program and plot library inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.answers.caps import cap_words
from dse.answers.explain import CATEGORY_MEANINGS, MEANINGS
from dse.answers.reports.commands import strategy_overrides
from dse.base.pages import joined, library, page_style, script_json, template_environment
from dse.base.units import duration_range, format_bytes, format_count, format_duration_ns
from dse.inputs.strategies import AXES, STRATEGY_FIELDS, Strategy, shown_axes

TEMPLATES = Path(__file__).parent / "templates"
_LIBRARY = TEMPLATES / "vendor" / "chart.umd.min.js"
PROGRAM_KEYS = ("memory_cap_bytes", "finished", "answers", "origins", "points", "cap_curve")
_SENSITIVITY_KEYS = (
    *("label", "unit", "value", "low_factor", "high_factor", "span_ns"),
    *("low_wall_time_ns", "base_wall_time_ns", "high_wall_time_ns"),
)


def render_page(data: dict[str, Any]) -> str:
    """Return the page of `report_data`; it loads nothing, and runs without a network."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(
        duration=lambda value: "–" if value is None else format_duration_ns(value),
        range=lambda point: duration_range(point["wall_time_low_ns"], point["wall_time_high_ns"]),
        size=lambda value: "–" if value is None else format_bytes(value),
        cap=cap_words,
        percent=lambda value: "–" if value is None else f"{value:.1f}",
        whole=grouped_digits,
        count=lambda value: "–" if value is None else format_count(value),
    )
    names = data["point_fields"]
    points = [
        {entry[0]: point_view(names, entry, group["origins"]) for entry in group["points"]}
        for group in data["groups"]
    ]
    return environment.get_template("report.html").render(
        report=data,
        points=points,
        parts=MEANINGS,
        categories=CATEGORY_MEANINGS,
        style=page_style(TEMPLATES / "report.css"),
        program=joined(TEMPLATES / "report.js"),
        libraries=[library(_LIBRARY)],
        data=script_json(_for_program(data, points)),
    )


def point_view(names: list[str], entry: list[Any], origins: list[dict[str, str]]) -> dict[str, Any]:
    """Return a point as the templates show it: its fields, label, command line and shares."""
    point: dict[str, Any] = dict(zip(names, entry[2:], strict=True))
    strategy = Strategy(**{name: point[name] for name in STRATEGY_FIELDS})
    point["rank"] = entry[0]
    point["label"] = strategy.label()
    origin = origins[entry[1]]
    point["command"] = f"{origin['command']} {strategy_overrides(strategy)}"
    point["variant"], point["note"] = origin["variant"], origin["note"]
    exposed, wall = point["exposed_comm_ns"], point["wall_time_ns"]
    point["exposed_pct"] = None if exposed is None or not wall else 100 * exposed / wall
    return point


def _for_program(data: dict[str, Any], points: list[dict[int, dict[str, Any]]]) -> dict[str, Any]:
    """The part of the data that the plots need; the rest of it is text of the page already."""
    names = data["point_fields"]
    entries = [entry for group in data["groups"] for entry in group["points"]]
    places = [names.index(name) + 2 for name in STRATEGY_FIELDS]
    values = [tuple([entry[place] for place in places]) for entry in entries]
    axes = [axis.name for axis in shown_axes(values)]
    unshown = {"key", *STRATEGY_FIELDS} - set(axes)  # the key is the longest field
    columns = {
        name: [entry[place] for entry in entries]
        for place, name in enumerate(names, 2)
        if name not in unshown
    }
    alike = {
        name: column[0]
        for name, column in columns.items()
        if name not in axes and column and column.count(column[0]) == len(column)
    }
    shown = [name for name in columns if name not in alike]
    kept_places = [0, 1, *[names.index(name) + 2 for name in shown]]
    groups = []
    for group, views in zip(data["groups"], points, strict=True):
        kept = {name: group[name] for name in PROGRAM_KEYS}
        kept["points"] = [
            [*[point[place] for place in kept_places], views[point[0]]["label"]] for point in group["points"]
        ]
        bars = group["breakdowns"]
        tracked = [entry["memory"]["categories"] for entry in bars if entry["memory"] is not None]
        kept["bars"] = {
            "points": [entry["point"] for entry in bars],
            "time": _by_name([entry["breakdown"] for entry in bars], "part", "ns"),
            "memory": _by_name(tracked, "category", "bytes") if len(tracked) == len(bars) else {},
        }
        kept["sensitivity"] = [
            {key: entry[key] for key in _SENSITIVITY_KEYS} for entry in group["sensitivity"]
        ]
        groups.append(kept)
    return {
        "point_fields": [*shown, "label"],
        "alike": alike,
        "run_figures": data["run_figures"],
        "strategy_fields": axes,
        "flags": [[axis.name, axis.word] for axis in AXES if axis.kind == "flag" and axis.since == 1],
        "groups": groups,
        "axis_studies": data["axis_studies"],
    }


def _by_name(bars: list[list[dict[str, Any]]], name: str, value: str) -> dict[str, list[float]]:
    """The parts of bars that any of them has, each as its values in all of them."""
    parts = {
        each[name]: [part[index][value] for part in bars]
        for index, each in enumerate(bars[0] if bars else [])
    }
    return {part: values for part, values in parts.items() if any(values)}


def grouped_digits(value: int | None) -> str:
    """Return a whole number in groups of three digits, with narrow spaces."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")
