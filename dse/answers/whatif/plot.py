"""Elasticities as bars and wall times as a tornado; matplotlib is imported only here."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.answers.whatif.report import Report, render
from dse.base.errors import InputError
from dse.base.files import write_output
from dse.base.lazy import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = (".png", ".svg", ".html")
_BAR, _LOWER, _HIGHER = "#4477aa", "#ee6677", "#228833"


def check_plot(path: Path) -> None:
    """Refuse what cannot be plotted, before anything is computed.

    Raises:
        InputError: the ending is none of `FORMATS`, or matplotlib is not installed.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"plot {path} must end in one of {', '.join(FORMATS)}")
    extra("matplotlib", "plot needs matplotlib: pip install 'dse[plot]' (or pip install matplotlib)")


def write_plot(reports: Sequence[Report], path: Path) -> None:
    """Draw a row for each report: its elasticities, and its wall times at the least and largest factor.

    The same reports give the same file.

    Raises:
        InputError: as `check_plot`; or the file cannot be written.
    """
    check_plot(path)
    import matplotlib
    from matplotlib.figure import Figure

    suffix = path.suffix.lower()
    lines = sum(len(report.sensitivities) for report in reports)
    with matplotlib.rc_context({"svg.hashsalt": "dse", "svg.fonttype": "path", "font.size": 9}):
        figure = Figure(figsize=(11, 1.2 * len(reports) + 0.32 * lines), layout="constrained")
        axes = figure.subplots(len(reports), 2, squeeze=False)
        for (left, right), report in zip(axes, reports, strict=True):
            _elasticities(left, report)
            _tornado(right, report)
        image = io.BytesIO()
        metadata: dict[str, Any] = {"Software": None} if suffix == ".png" else {"Date": None}
        figure.savefig(image, format="png" if suffix == ".png" else "svg", dpi=120, metadata=metadata)
    data = image.getvalue()
    write_output(path, _page(reports, data.decode()).encode() if suffix == ".html" else data, "plot")


def _elasticities(axes: Axes, report: Report) -> None:
    entries = sorted(report.sensitivities, key=lambda entry: abs(entry.elasticity or 0))
    bars = axes.barh(
        [_name(entry.parameter.key) for entry in entries],
        [entry.elasticity or 0 for entry in entries],
        color=_BAR,
    )
    axes.bar_label(bars, fmt="%+.3f", padding=3)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.margins(x=0.3)
    axes.set_xlabel("elasticity of the wall time")
    axes.set_title(f"{report.title}\n{report.strategy.label()}", loc="left", fontsize=9)


def _tornado(axes: Axes, report: Report) -> None:
    """For each parameter a bar to the wall time at the least factor, and one to that at the largest."""
    base = report.row.wall_time_ns
    entries = [entry for entry in report.sensitivities if entry.samples]
    if not base or not entries:
        axes.set_axis_off()
        return

    def change(entry_index: int, factor: float) -> float:
        samples = {sample.factor: sample.wall_time_ns for sample in entries[entry_index].samples}
        wall = samples[factor]
        return 0.0 if wall is None else 100 * (wall / base - 1)

    factors = [sample.factor for sample in entries[0].samples]
    ends = list(dict.fromkeys((min(factors), max(factors))))
    order = sorted(range(len(entries)), key=lambda index: max(abs(change(index, end)) for end in ends))
    for end, colour in zip(ends, (_LOWER, _HIGHER), strict=False):
        names = [_name(entries[index].parameter.key) for index in order]
        axes.barh(names, [change(index, end) for index in order], color=colour, label=f"x{end:g}", alpha=0.85)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel(f"change of the wall time, % of {base / 1e6:.6g} ms")
    axes.legend(loc="lower right")


def _page(reports: Sequence[Report], svg: str) -> str:
    tables = "\n".join(f"<pre>{html.escape(render(report))}</pre>" for report in reports)
    drawing = svg[svg.index("<svg") :]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Sensitivity</title></head>\n'
        f"<body>\n{drawing}\n{tables}\n</body></html>\n"
    )


def _name(key: str) -> str:
    return key.removeprefix("system.")
