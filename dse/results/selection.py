"""Which strategy wins: the fastest points of a study, with and without a memory cap, in a total order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.results.schema import STATUSES, Rows, Status, StudyRow, as_rows, as_table

if TYPE_CHECKING:
    import pyarrow as pa

RANKING_COLUMNS = (
    "wall_time_ns",
    "peak_memory_bytes",
    "dp",
    "tp",
    "sp",
    "pp",
    "weight_sharded",
    "activation_recompute",
    "model",
    "system",
)
"""The order of points, best first: ascending, a column breaking the ties of those before it; nulls last."""


@dataclass(frozen=True)
class Selection:
    """The answer to "which strategy?"; None where there is no such point.

    The capped points are None without a cap. The smallest peak, over all points that are ok, says by how much
    a cap is missed.
    """

    optimum: StudyRow | None
    runner_up: StudyRow | None
    memory_cap_bytes: int | None
    capped_optimum: StudyRow | None
    capped_runner_up: StudyRow | None
    smallest_peak_memory_bytes: int | None
    counts: Mapping[Status, int]


def select(rows: Rows, *, memory_cap_bytes: int | None = None) -> Selection:
    """Both optima, their runners-up, and the number of points by status.

    Raises:
        InputError: a cap is asked for and no point has a peak memory.
    """
    import pyarrow.compute as pc

    table = as_table(rows)
    first, second = _first_two(ranking(table, limit=2))
    capped_first, capped_second = None, None
    if memory_cap_bytes is not None:
        capped_first, capped_second = _first_two(ranking(table, memory_cap_bytes=memory_cap_bytes, limit=2))
    return Selection(
        optimum=first,
        runner_up=second,
        memory_cap_bytes=memory_cap_bytes,
        capped_optimum=capped_first,
        capped_runner_up=capped_second,
        smallest_peak_memory_bytes=pc.min(_finished(table)["peak_memory_bytes"]).as_py(),
        counts=counts_by_status(table),
    )


def best(rows: Rows, *, memory_cap_bytes: int | None = None) -> StudyRow | None:
    """The point that is ok with the least wall time (and a peak memory of at most the cap); see `ranking`."""
    return _first_two(ranking(rows, memory_cap_bytes=memory_cap_bytes, limit=1))[0]


def runner_up(rows: Rows, *, memory_cap_bytes: int | None = None) -> StudyRow | None:
    """The second of the ranking."""
    return _first_two(ranking(rows, memory_cap_bytes=memory_cap_bytes, limit=2))[1]


def ranking(rows: Rows, *, memory_cap_bytes: int | None = None, limit: int | None = None) -> list[StudyRow]:
    """The points that are ok, best first by `RANKING_COLUMNS`, at most `limit` of them.

    With a cap, only those whose peak memory is known and at most `memory_cap_bytes`.

    Raises:
        InputError: a cap is asked for and no point has a peak memory.
    """
    import pyarrow.compute as pc

    points = _finished(as_table(rows))
    if memory_cap_bytes is not None:
        if points.num_rows and points["peak_memory_bytes"].null_count == points.num_rows:
            raise InputError(
                "a memory cap needs peak memories, and no point has one: "
                "turn on track_local_memory in the system and sweep again, or ask without a cap"
            )
        points = points.filter(pc.field("peak_memory_bytes") <= memory_cap_bytes)
    count = points.num_rows if limit is None else min(limit, points.num_rows)
    order = [(name, "ascending") for name in RANKING_COLUMNS]
    return as_rows(points.take(pc.select_k_unstable(points, count, sort_keys=order)))


def counts_by_status(rows: Rows) -> dict[Status, int]:
    """The number of points of every status, zeros included, in the order of `STATUSES`."""
    import pyarrow.compute as pc

    counted = pc.value_counts(as_table(rows)["status"]).to_pylist()
    found = {entry["values"]: int(entry["counts"]) for entry in counted}
    return {status: found.get(status, 0) for status in STATUSES}


def _finished(table: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter((pc.field("status") == "ok") & pc.field("wall_time_ns").is_valid())


def _first_two(rows: list[StudyRow]) -> tuple[StudyRow | None, StudyRow | None]:
    first, second, *_ = [*rows, None, None]
    return first, second
