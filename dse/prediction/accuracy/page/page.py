"""The page of an accuracy: one HTML file with its style and its pictures inside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.base.pages import page_style, template_environment
from dse.prediction.accuracy.accuracy import Accuracy
from dse.prediction.accuracy.output import inexpressible_by_reason
from dse.prediction.accuracy.page.scatter import MARGIN, SIZE, scatter

TEMPLATES = Path(__file__).parent / "templates"


def render_page(accuracy: Accuracy) -> str:
    """Return the page; it loads nothing, and runs without a network and without a program."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(
        percent=lambda value: "–" if value is None else f"{value:.1f}",
        signed=lambda value: "–" if value is None else f"{value:+.1f}",
        seconds=lambda value: f"{value:.4g}",
    )
    plots: list[dict[str, Any]] = []
    for source in accuracy.sources:
        if source.expressible:
            rows = [one for one in accuracy.compared if one.row.source == source.source]
            plots.append({"errors": source, "plot": scatter(rows)})
    known = [one for one in accuracy.compared if one.is_expressible]
    return environment.get_template("accuracy.html").render(
        accuracy=accuracy,
        plots=plots,
        parts=list(accuracy.total.parts_pct),
        missing=inexpressible_by_reason(accuracy.compared),
        worst=sorted(known, key=lambda one: -abs(one.error_pct))[:20],
        size=SIZE,
        margin=MARGIN,
        style=page_style(TEMPLATES / "accuracy.css"),
    )
