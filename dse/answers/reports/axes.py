"""The optimum against the axes of a study, for the page: a table, and a plot against a numeric axis."""

from __future__ import annotations

from typing import Any

from dse.answers import AxisStudy, axis_studies
from dse.answers.groups import shown_value
from dse.base.lazy import pa
from dse.studies.store import Snapshot, StudyRow

MAX_SETTINGS = 200


def axes_against(
    snapshot: Snapshot, table: pa.Table, memory_cap_bytes: int | None, by_system: bool = False
) -> list[dict[str, Any]]:
    """Return the axis studies of a table of a snapshot; `by_system` as in `Cap`.

    Each has title, axes, short_axes, numeric_axis (the number of the axis with the most values that all are
    numbers; None without one), memory_cap_bytes, cap_binds, settings and omitted, the number of settings that
    are left out. A setting has values, shown (the same as texts), best and best_under_cap: None or label,
    wall_time_ns and peak_memory_bytes.
    """
    peaks = table["peak_memory_bytes"]
    cap = memory_cap_bytes if peaks.null_count < len(peaks) else None
    studies = axis_studies(
        table, memory_cap_bytes=cap, by_system=by_system, whole=snapshot.rows, most=MAX_SETTINGS
    )
    return [_plain(study) for study in studies]


def _plain(study: AxisStudy) -> dict[str, Any]:
    return {
        "title": f"{study.model} on {study.system}",
        "axes": list(study.axes),
        "short_axes": list(study.short_axes),
        "numeric_axis": _numeric_axis(study),
        "memory_cap_bytes": study.memory_cap_bytes,
        "cap_binds": study.cap_binds,
        "settings": [
            {
                "values": list(setting.values),
                "shown": [
                    "–" if value is None else shown_value(name, value)
                    for name, value in zip(study.axes, setting.values, strict=True)
                ],
                "best": short_point(setting.optimum),
                "best_under_cap": short_point(setting.capped_optimum),
            }
            for setting in study.settings
        ],
        "omitted": study.omitted,
    }


def _numeric_axis(study: AxisStudy) -> int | None:
    if all(setting.optimum is None for setting in study.settings):
        return None
    columns = zip(*(setting.values for setting in study.settings), strict=True)
    counts = [
        len(set(column)) if all(type(value) in (int, float) for value in column) else 0 for column in columns
    ]
    most = max(counts)
    return counts.index(most) if most > 1 else None


def short_point(row: StudyRow | None) -> dict[str, Any] | None:
    """Return what a list says of a point; None without one."""
    if row is None:
        return None
    return {
        "label": row.label(),
        "wall_time_ns": row.wall_time_ns,
        "peak_memory_bytes": row.peak_memory_bytes,
    }
