"""The end-of-sweep answer, as a plain-text table and as a JSON structure."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from dse.results.groups import variant_of
from dse.results.schema import StudyRow
from dse.results.selection import Selection
from dse.units import format_bytes, format_duration_ns

HEADER = (
    ("", "dp", "tp", "sp", "pp", "fsdp", "act.", "wall time", "wall time", "peak", "exposed", "compute"),
    (*[""] * 6, "recomp.", "", "ns", "memory", "comm %", "util. %"),
)


def render(selection: Selection, variants: Mapping[str, str] | None = None) -> str:
    """The best point and its runner-up without a cap, then under the cap, then the counts.

    A runner-up's percentage is its extra wall time; exposed communication is a share of the wall time. No
    line is wider than 110 columns (for wall times below 10,000 s, peaks
    below 1000 TB, and two degrees of up to four digits). `variants` (`describe_variants`) adds a line to a
    point whose system is one of several.
    """
    lines: list[str | Sequence[str]] = [*HEADER, "without a memory cap"]
    variants = variants or {}
    lines += _pair(selection.optimum, selection.runner_up, variants) or ["  no point is ok"]
    if selection.memory_cap_bytes is not None:
        lines.append(f"under {_exact_bytes(selection.memory_cap_bytes)}")
        lines += _pair(selection.capped_optimum, selection.capped_runner_up, variants) or [
            _nothing_fits(selection)
        ]
    return "\n".join([*align(lines), "", _counts(selection)])


def render_rows(labelled: Sequence[tuple[str, StudyRow]], variants: Mapping[str, str] | None = None) -> str:
    """Points one a line under the same heading, each with a label; `variants` as for `render`."""
    lines: list[str | Sequence[str]] = [*HEADER]
    for label, row in labelled:
        lines += [_cells(label, row), *_variant(row, variants or {})]
    return "\n".join(align(lines))


def to_json(selection: Selection) -> dict[str, Any]:
    """The same as plain data.

    Keys: best, runner_up, best_under_cap, runner_up_under_cap, each None or a dict of the columns of a row;
    memory_cap_bytes, None without a cap; counts, by status, zeros included.
    """
    return {
        "best": _optional(selection.optimum),
        "runner_up": _optional(selection.runner_up),
        "best_under_cap": _optional(selection.capped_optimum),
        "runner_up_under_cap": _optional(selection.capped_runner_up),
        "memory_cap_bytes": selection.memory_cap_bytes,
        "counts": dict(selection.counts),
    }


def _optional(row: StudyRow | None) -> dict[str, Any] | None:
    return None if row is None else row_to_json(row)


def row_to_json(row: StudyRow) -> dict[str, Any]:
    """The columns of a row; a double that JSON cannot say (infinite, not a number) becomes None."""
    values = dataclasses.asdict(row)
    unsayable = {
        name for name, value in values.items() if isinstance(value, float) and not math.isfinite(value)
    }
    return {name: None if name in unsayable else value for name, value in values.items()}


def _pair(
    best: StudyRow | None, runner_up: StudyRow | None, variants: Mapping[str, str]
) -> list[str | Sequence[str]]:
    if best is None:
        return []
    lines = [_cells("  best", best), *_variant(best, variants)]
    if runner_up is None:
        return lines
    extra = _percentage((runner_up.wall_time_ns or 0) - (best.wall_time_ns or 0), best.wall_time_ns)
    return [*lines, _cells(f"  runner-up +{extra} %", runner_up), *_variant(runner_up, variants)]


def _variant(row: StudyRow, variants: Mapping[str, str]) -> list[str | Sequence[str]]:
    text = variant_of(row, variants)
    return [f"    with {text}"] if text else []


def _cells(label: str, row: StudyRow) -> list[str]:
    wall_time_ns = row.wall_time_ns or 0
    return [
        label,
        *(str(degree) for degree in (row.dp, row.tp, row.sp, row.pp)),
        "yes" if row.weight_sharded else "no",
        "yes" if row.activation_recompute else "no",
        format_duration_ns(wall_time_ns),
        str(wall_time_ns),
        "-" if row.peak_memory_bytes is None else format_bytes(row.peak_memory_bytes),
        _percentage(row.exposed_comm_ns, wall_time_ns),
        "-" if row.compute_utilization_pct is None else f"{row.compute_utilization_pct:.1f}",
    ]


def _percentage(part: int | None, whole: int | None) -> str:
    return "-" if part is None or not whole else f"{100 * part / whole:.1f}"


def _nothing_fits(selection: Selection) -> str:
    smallest = selection.smallest_peak_memory_bytes
    if smallest is None:
        return "  no point is ok"
    return f"  nothing fits: the smallest peak memory is {_exact_bytes(smallest)}"


def _exact_bytes(size_bytes: int) -> str:
    return f"{format_bytes(size_bytes)} ({size_bytes} bytes)"


def _counts(selection: Selection) -> str:
    """Such as "56 points: 54 ok, 1 infeasible, 1 deadlock"; what does not occur is left out, except ok."""
    total = sum(selection.counts.values())
    shown = [f"{count} {status}" for status, count in selection.counts.items() if count or status == "ok"]
    return f"{total} point{'' if total == 1 else 's'}: {', '.join(shown)}"


def align(lines: Sequence[str | Sequence[str]]) -> list[str]:
    """Pad the cells of rows to columns, the first to the left, the others to the right; keep plain lines."""
    rows = [line for line in lines if not isinstance(line, str)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        line
        if isinstance(line, str)
        else "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
