"""The page of the explorer: one HTML file with data, style, programs, plot library and the engine inside."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers.explorer.data import Subject, figures_of_a_row
from dse.answers.explorer.engine_file import EngineVersions, engine_bytes, engine_versions
from dse.answers.explorer.page_rules import RULES, rules
from dse.answers.explorer.predicted_data import predicted_page_data
from dse.base.pages import inlined, joined, library, page_style, script_json, template_environment
from dse.studies.points.inputs import result_version

if TYPE_CHECKING:
    from markupsafe import Markup

PAGE = Path(__file__).parent / "page"
_CHART = Path(__file__).parents[1] / "reports" / "templates" / "vendor" / "chart.umd.min.js"
_PARQUET = PAGE / "vendor" / "hyparquet-writer.min.js"

LIBRARIES = (_CHART, _PARQUET)
TABLE = "explorer"
"""The constant by which tests and the console of a browser find what the modules of a page export."""


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
    environment = template_environment(PAGE)
    is_live = data["live"]
    return environment.get_template("explorer.html").render(
        title=data["title"],
        fidelity=data["fidelity"],
        data=script_json(data),
        style=page_style(PAGE / "explorer.css"),
        libraries=list(map(library, LIBRARIES)),
        program=script("app"),
        worker=script("worker") if is_live else "",
        wasm=packed_engine() if is_live else "",
    )


def render_predicted(subject: Subject) -> str:
    """Return the page that predicts the plans of a space, for a subject whose points are predicted.

    Raises:
        InputError: as `predicted_page_data`.
    """
    data = predicted_page_data(subject)
    return (
        template_environment(PAGE)
        .get_template("predicted/predicted.html")
        .render(
            title=data["title"],
            fidelity=data["fidelity"],
            data=script_json(data),
            style=page_style(PAGE / "explorer.css") + inlined(PAGE / "predicted" / "predicted.css"),
            program=script("predicted/predicted_app"),
            worker=script("predicted/plan_worker"),
            wasm=packed_engine(),
        )
    )


@cache
def packed_engine() -> str:
    """Return the engine as it stands in a page: base64 of gzip; empty where there is none."""
    engine = engine_bytes()
    return "" if engine is None else base64.b64encode(gzip.compress(engine, 9, mtime=0)).decode()


@cache
def script(*names: str) -> Markup:
    """Return modules of the page, with all that they import, as one script."""
    return joined(*(PAGE / f"{name}.js" for name in names), table=TABLE, made={RULES: rules})
