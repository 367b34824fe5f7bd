"""Points that look like another one in a table: time and memory are equal in the digits that are printed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dse.base.units import format_bytes, format_duration_ns

if TYPE_CHECKING:
    import pyarrow as pa

    from dse.studies.store.schema import StudyRow

_NEAR = 1.002  # more than the four digits of a duration tell apart


def tied_points(table: pa.Table, best: StudyRow) -> Any:
    """Return for each row of a table whether it is printed as the best of them, as an array of booleans."""
    import numpy as np
    import pyarrow.compute as pc

    wall_time_ns = best.wall_time_ns or 0
    near = pc.less_equal(table["wall_time_ns"], math.ceil(wall_time_ns * _NEAR)).to_numpy()
    tied = np.zeros(table.num_rows, bool)
    (candidates,) = np.nonzero(near)
    pairs = table.select(["wall_time_ns", "peak_memory_bytes"]).take(candidates).to_pydict()
    printed = _printed(wall_time_ns, best.peak_memory_bytes)
    tied[candidates] = [_printed(*pair) == printed for pair in zip(*pairs.values(), strict=True)]
    return tied


def _printed(wall_time_ns: int, peak_memory_bytes: int | None) -> tuple[str, str]:
    peak = "-" if peak_memory_bytes is None else format_bytes(peak_memory_bytes)
    return format_duration_ns(wall_time_ns), peak
