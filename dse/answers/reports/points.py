"""Points of a study as the lists of plain data that a page has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dse.answers.conventions import shown_mfu
from dse.answers.groups import variant_of
from dse.answers.reports.commands import Commands
from dse.answers.reports.runs_of_points import run_figure
from dse.inputs.strategies import STRATEGY_FIELDS
from dse.studies.store import StudyRow

POINT_FIELDS = (
    *STRATEGY_FIELDS,
    *("wall_time_ns", "peak_memory_bytes", "exposed_comm_ns", "gpu_time_ns", "comm_time_ns"),
    *("wall_time_low_ns", "wall_time_high_ns"),
    *("compute_utilization_pct", "memory_utilization_pct", "compute_bound_pct", "operation_intensity"),
    *("mfu_pct", "tokens_per_s", "tokens_per_s_per_npu"),
    *("fractional", "last_rank", "rank_classes", "key"),
)
"""The fields of each point on the page; its rank, its origin and figures of runs come in addition."""


def points_of(
    rows: Mapping[int, StudyRow], commands: Commands, described: Mapping[str, str], figures: Sequence[str]
) -> tuple[list[list[Any]], list[dict[str, str]]]:
    """Each point as [rank, number of its origin, *POINT_FIELDS, *figures], and the origins."""
    numbers: dict[tuple[str, str, str], int] = {}
    points = []
    for rank, row in rows.items():
        origin = commands.origin(row)
        entry = (origin.command, origin.note, variant_of(row, described))
        number = numbers.setdefault(entry, len(numbers))
        values = [*(_field(row, name) for name in POINT_FIELDS), *(run_figure(row, name) for name in figures)]
        points.append([rank, number, *map(plain, values)])
    origins = [{"command": command, "note": note, "variant": variant} for command, note, variant in numbers]
    return points, origins


def _field(row: StudyRow, name: str) -> Any:
    """A field of a row as the page shows it: MFU is that of the precision of products."""
    return shown_mfu(row) if name == "mfu_pct" else getattr(row, name)


def plain(value: Any) -> Any:
    """A value as JSON can hold it. Percentages have three decimals, as the simulator reports them."""
    if isinstance(value, float):
        return round(value, 3) if math.isfinite(value) else None
    return value
