"""The page of a report: one HTML file with its data, style, program and plot library inside."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.explain import CATEGORIES, PARTS
from dse.units import format_bytes, format_duration_ns

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
PROGRAM_KEYS = (
    *("memory_cap_bytes", "finished", "answers", "origins", "points"),
    *("cap_curve", "breakdowns", "sensitivity"),
)
HEAT_LIMITS = (1.02, 1.05, 1.1, 1.25, 1.5, 2.0)
_SOURCE_MAP = re.compile(r"\n//# sourceMappingURL=.*")
_INDENTATION = re.compile(r"^ +", re.MULTILINE)


def render_page(data: dict[str, Any]) -> str:
    """Return the page of `report_data`; it loads nothing, and runs without a network."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        duration=lambda value: "–" if value is None else format_duration_ns(value),
        size=lambda value: "–" if value is None else format_bytes(value),
        percent=lambda value: "–" if value is None else f"{value:.1f}",
        whole=grouped_digits,
    )
    names = data["point_fields"]
    points = [
        {entry[0]: point_view(names, entry, group["origins"]) for entry in group["points"]}
        for group in data["groups"]
    ]
    return environment.get_template("report.html").render(
        report=data,
        points=points,
        parts=PARTS,
        categories=CATEGORIES,
        heat=heat_level,
        style=Markup(_INDENTATION.sub("", _text("report.css"))),
        program=Markup(_INDENTATION.sub("", _text("report.js"))),
        library=Markup(_SOURCE_MAP.sub("", _text("vendor/chart.umd.min.js"))),
        data=script_json(_for_program(data)),
    )


def point_view(names: list[str], entry: list[Any], origins: list[dict[str, str]]) -> dict[str, Any]:
    """Return a point as the templates show it: its fields, label, command line and shares."""
    point: dict[str, Any] = dict(zip(names, entry[2:], strict=True))
    degrees = [f"{axis}{point[axis]}" for axis in ("dp", "tp", "sp", "pp")]
    switches = [("fsdp", "weight_sharded"), ("recompute", "activation_recompute")]
    point["rank"] = entry[0]
    point["label"] = " ".join([*degrees, *(word for word, name in switches if point[name])])
    origin = origins[entry[1]]
    strategy = " ".join(f"strategy.{name}={str(point[name]).lower()}" for name in names[:6])
    point["command"] = f"{origin['command']} {strategy}"
    point["variant"], point["note"] = origin["variant"], origin["note"]
    exposed, wall = point["exposed_comm_ns"], point["wall_time_ns"]
    point["exposed_pct"] = None if exposed is None or not wall else 100 * exposed / wall
    return point


def heat_level(wall_time_ns: int, fastest_ns: int) -> int:
    """Return 0 to 6: how much slower than the fastest one a point is, in the steps of the legend."""
    return sum(wall_time_ns >= limit * fastest_ns for limit in HEAT_LIMITS)


def _for_program(data: dict[str, Any]) -> dict[str, Any]:
    """The part of the data that the plots need; the rest of it is text of the page already."""
    *shown, key = data["point_fields"]
    assert key == "key"  # nothing shows it, and it is the longest field
    groups = []
    for group in data["groups"]:
        kept = {name: group[name] for name in PROGRAM_KEYS}
        kept["points"] = [point[:-1] for point in group["points"]]
        kept["breakdowns"] = [
            {name: entry[name] for name in ("point", "wall_time_ns", "breakdown", "memory")}
            for entry in group["breakdowns"]
        ]
        groups.append(kept)
    return {"point_fields": shown, "groups": groups}


def grouped_digits(value: int | None) -> str:
    """Return a whole number in groups of three digits, with narrow spaces."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def script_json(data: Any) -> Markup:
    """Return JSON that can stand in a script element, whatever texts are in it."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")
