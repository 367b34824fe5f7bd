"""The page of the explorer: one HTML file with data, style, programs, plot library and the engine inside."""

from __future__ import annotations

import base64
import gzip
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers.explorer.data import figures_of_a_row
from dse.answers.explorer.engine_file import EngineVersions, engine_bytes, engine_versions
from dse.base.pages import CHARTS, NUMBERS, inlined, library, page_style, script_json, template_environment
from dse.studies.points.inputs import result_version

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE = Path(__file__).parent / "page"
_CHART = Path(__file__).parents[1] / "reports" / "templates" / "vendor" / "chart.umd.min.js"
_PARQUET = PAGE / "vendor" / "hyparquet-writer.min.js"

LIBRARIES = (_CHART, _PARQUET)
SHARED = (NUMBERS, CHARTS)
PROGRAMS = (
    *("dom", "format", "scenario", "doubts", "constraints", "answers", "state", "scales", "field", "fields"),
    *("commands", "words", "download", "parameters", "switches", "winners"),
    *("plots", "scatter", "heat", "caps"),
    *("recording", "point", "breakdown", "bars", "breakdown_view", "memory", "memory_view"),
    *("lanes", "timeline_paint", "timeline_told", "timeline_hands", "timeline"),
    *("tornado", "map_doubts", "map_paint", "map"),
    *("cards", "table", "frame", "runs", "status", "shell", "engine", "app"),
)
"""What runs in the page, in this order; each registers on the one global `explorer`."""

WORKER = ("host", "worker")
"""What runs in the worker; its text stands in the page, from which the worker is made."""

_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*.*\*/[ \t]*)\n", re.MULTILINE)
_EMPTY = re.compile(r"\n{2,}")


def without_engine() -> str:
    """Return what to do where there is no engine for pages of this version; empty where there is one."""
    engine = engine_bytes()
    if engine is None:
        return "the engine for pages has not been built: write make wasm"
    if engine_versions(engine) != EngineVersions(result_version(), figures_of_a_row()):
        return "the engine for pages is of another version than this package: write make wasm"
    return ""


def render_page(data: dict[str, Any]) -> str:
    """Return the page of `page_data`; it loads nothing, and runs without a network.

    The same data give the same bytes.
    """
    from markupsafe import Markup

    environment = template_environment(PAGE)
    is_live = data["live"]
    return environment.get_template("explorer.html").render(
        title=data["title"],
        fidelity=data["fidelity"],
        data=script_json(data),
        style=page_style(PAGE / "explorer.css"),
        libraries=[*map(library, LIBRARIES), *map(inlined, SHARED)],
        programs=[program(name) for name in PROGRAMS],
        worker=Markup("").join(program(name) for name in WORKER) if is_live else "",
        wasm=packed_engine() if is_live else "",
    )


@cache
def packed_engine() -> str:
    """Return the engine as it stands in a page: base64 of gzip; empty where there is none."""
    engine = engine_bytes()
    return "" if engine is None else base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode()


def program(name: str) -> Markup:
    """Return a program as it stands in a page, without indentation and lines of comments."""
    from markupsafe import Markup

    text = _COMMENT.sub("", (PAGE / f"{name}.js").read_text(encoding="utf-8"))
    text = "\n".join(line.lstrip(" ") for line in text.splitlines())
    return Markup(_EMPTY.sub("\n", text))
