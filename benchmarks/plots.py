"""Pictures of the results; matplotlib is imported only here, and results do not need it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.sections import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLUE, _ORANGE, _GREEN, _GREY = "#1f5fa8", "#c8571b", "#2f7d4f", "#666666"


def draw(results: Mapping[str, Sequence[Row]], folder: Path) -> None:
    """Write a PNG for each section that has one; without matplotlib, say so and write none."""
    try:
        import matplotlib
    except ImportError:
        print("note: no pictures, because matplotlib is not installed", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams |= {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    pictures: dict[str, tuple[str, Callable[[Axes, Sequence[Row]], None]]] = {
        "lab_points": ("lab", _lab_points),
        "npus": ("scale", _npus),
        "general_against_classes": ("scale", _general_against_classes),
        "synthesis": ("synthesis", _synthesis),
    }
    for name, (section, paint) in pictures.items():
        if section not in results:
            continue
        figure, axes = pyplot.subplots(figsize=(7.2, 4.2), layout="constrained")
        paint(axes, results[section])
        figure.savefig(folder / f"{name}.png", dpi=110)
        pyplot.close(figure)


def _lab_points(axes: Axes, rows: Sequence[Row]) -> None:
    """Generation and simulation of every point, sorted, a curve a pair."""
    for name, color in zip(dict.fromkeys(str(row["name"]) for row in rows), (_BLUE, _ORANGE), strict=False):
        mine = sorted((row for row in rows if row["name"] == name), key=lambda row: _get(row, "total_s"))
        places = range(1, len(mine) + 1)
        axes.plot(places, [_get(row, "total_s") * 1e3 for row in mine], "o", color=color, ms=4, label=name)
        axes.plot(
            places,
            [_get(row, "simulate_s") * 1e3 for row in mine],
            ".",
            color=color,
            alpha=0.45,
            ms=4,
            label=f"{name}, simulation alone",
        )
    if any(row["reference_total_s"] is not None for row in rows):
        limit = min(_get(row, "reference_total_s") for row in rows if row["reference_total_s"] is not None)
        axes.axhline(limit / 10, color=_GREY, lw=1, ls="--")
        axes.annotate(
            f"target: 1/10,000 of the references' {limit:.0f} s (lower bound, llama70b on system1)",
            (1, limit / 10),
            xytext=(0, -11),
            textcoords="offset points",
            color=_GREY,
        )
    axes.set_yscale("log")
    axes.set_xlabel("points of the lab, fastest first")
    axes.set_ylabel("CPU time of a point, ms")
    axes.set_title("Generation and simulation of every point of the lab", loc="left")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _synthesis(axes: Axes, rows: Sequence[Row]) -> None:
    """CPU time of a search against NPUs: a curve a series, a colour a network, and TACOS's recorded runs."""
    colors = {"mesh": _BLUE, "torus": _GREEN, "hypercube": _ORANGE}
    for name in dict.fromkeys(str(row["series"]) for row in rows if row["series"]):
        mine = [row for row in rows if row["series"] == name]
        axes.plot(
            [_get(row, "npus") for row in mine],
            [_get(row, "units") for row in mine],
            "o-" if "plain" in name else "s--",
            color=colors[name.split()[0]],
            ms=4,
            label=name,
        )
    recorded = {str(row["name"]): row for row in rows if row["tacos_units"] is not None}
    axes.plot(
        [_get(row, "npus") for row in recorded.values()],
        [_get(row, "tacos_units") for row in recorded.values()],
        "x",
        color=_GREY,
        label="TACOS, recorded",
    )
    for name in ("torus 32x32", "hypercube 2^10"):
        if name in recorded:
            place = _get(recorded[name], "npus"), _get(recorded[name], "tacos_units")
            axes.annotate(name, place, xytext=(6, -3), textcoords="offset points", fontsize=7, color=_GREY)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("NPUs")
    axes.set_ylabel("CPU time of a search, in loops of 20 M iterations of Python")
    axes.set_title("Synthesis of an all-gather", loc="left")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _npus(axes: Axes, rows: Sequence[Row]) -> None:
    """Time against NPUs: the growing series by classes, and the large points of the real hierarchies."""
    series = [row for row in rows if row["kind"] == "series" and row["engine"] == "auto"]
    axes.plot(
        [_get(row, "npus") for row in series],
        [_get(row, "total_s") * 1e3 for row in series],
        "o-",
        color=_BLUE,
        ms=4,
        label="2 layers, dp = NPUs / 8, tp 8",
    )
    large = [row for row in rows if row["kind"] == "large"]
    axes.plot(
        [_get(row, "npus") for row in large],
        [_get(row, "total_s") * 1e3 for row in large],
        "D",
        color=_GREEN,
        ms=5,
        label="80 layers: torus_1k, switch_8k, switch_128k",
    )
    axes.axhline(1000, color=_GREY, lw=1, ls="--")
    axes.annotate("target: 1 s", (64, 1000), xytext=(0, -12), textcoords="offset points", color=_GREY)
    axes.set_title("Llama-70B by rank classes: time of a point against NPUs", loc="left")
    _npu_axis(axes)


def _general_against_classes(axes: Axes, rows: Sequence[Row]) -> None:
    """Both methods on the same points, with the number of events as labels."""
    series = [row for row in rows if row["kind"] == "series"]
    for engine, label, color in (
        ("general", "every rank and every message, with the number of events", _ORANGE),
        ("auto", "by rank classes", _BLUE),
    ):
        mine = [row for row in series if row["engine"] == engine]
        axes.plot(
            [_get(row, "npus") for row in mine],
            [_get(row, "simulate_s") * 1e3 for row in mine],
            "o-",
            color=color,
            ms=4,
            label=label,
        )
        counts = [_get(row, "events") for row in mine]
        is_constant = len(set(counts)) == 1
        for row in mine[:1] if is_constant else mine:
            text = _events(_get(row, "events"))
            axes.annotate(
                f"{text} events at every size" if is_constant else text,
                (_get(row, "npus"), _get(row, "simulate_s") * 1e3),
                xytext=(0, 8) if is_constant else (8, -3),
                textcoords="offset points",
                fontsize=8,
                color=color,
            )
    axes.set_title("Simulation of the same points, equal results: Llama-70B, 2 layers, tp 8", loc="left")
    _npu_axis(axes)
    axes.margins(y=0.12)


def _npu_axis(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([64, 256, 1024, 8192, 32_768, 131_072])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("NPUs")
    axes.set_ylabel("CPU time, ms")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def _events(count: float) -> str:
    return f"{count / 1e6:.1f} million" if count >= 1e6 else f"{count:,.0f}"


def _get(row: Row, column: str) -> float:
    value = row[column]
    assert isinstance(value, int | float), column
    return value
