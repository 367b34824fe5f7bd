"""The record type of syntheses: what was asked, what was found, and how good it is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from dse.base.texts import aligned, printable
from dse.base.units import format_duration_ns
from dse.studies.store.records import (
    Column,
    RecordType,
    count,
    flag,
    number,
    percent,
    repeated_text,
    seconds,
    text,
)

OK, FAILED, TIMEOUT = "ok", "failed", "timeout"

time_ps = functools.partial(Column, "int64", "ps")


@dataclass(frozen=True)
class SynthesisRow:
    """One synthesis; figures are None where there is no schedule, and `reason` says why."""

    topology: Annotated[str, text("the topology as it was asked for: a file, a name or a system")]
    collective: Annotated[str, text("the collective")]
    npus: Annotated[int, count("NPUs of the topology", least=1)]
    links: Annotated[int, count("directed links of the topology", least=0)]
    chunks_per_npu: Annotated[int, count("chunks per NPU; of broadcast and reduce: in all", least=1)]
    chunk_bytes: Annotated[str, text("bytes of a chunk, exactly: a whole number or a fraction")]
    root: Annotated[int, number("the NPU that a rooted collective starts or ends at", least=0)]
    gb: Annotated[str, repeated_text("what a GB/s is: 1e9 or gib", allowed=("1e9", "gib"))]
    occupancy: Annotated[str, repeated_text("how long a chunk holds a link", allowed=("total", "bandwidth"))]
    clock: Annotated[str, repeated_text("what times are floored to", allowed=("ps", "ns"))]
    asked: Annotated[str, text("the synthesizer that was asked for")]
    seed: Annotated[int, number("the seed")]
    trials: Annotated[int, count("runs that the search may take", least=0)]
    time_limit_s: Annotated[float | None, seconds("seconds that it may take; null: as long as it needs")]
    status: Annotated[str, repeated_text("how it ended", allowed=(OK, FAILED, TIMEOUT))]
    reason: Annotated[str, repeated_text("why there is no schedule")]
    synthesizer: Annotated[str | None, repeated_text("the synthesizer that made the schedule")]
    time_ps: Annotated[int | None, time_ps("when the last chunk has arrived", least=0)]
    bound_ps: Annotated[int | None, time_ps("the strongest lower bound on that time", least=0)]
    bound: Annotated[str | None, repeated_text("the name of that bound")]
    optimal: Annotated[bool | None, flag("whether the schedule takes as long as the bound")]
    gap_pct: Annotated[float | None, percent("by how much it takes longer than the bound")]
    barrier_ps: Annotated[int | None, time_ps("an all-reduce with a barrier between its halves", least=0)]
    best_fixed: Annotated[str | None, repeated_text("the fastest fixed algorithm on the same links")]
    best_fixed_ps: Annotated[int | None, time_ps("its time", least=0)]
    sends: Annotated[int | None, count("sends of the schedule", least=0)]
    cpu_s: Annotated[float | None, seconds("CPU time of the search and its bounds", least=0)]
    key: Annotated[str, text("a hash of all that the schedule depends on")]
    split: Annotated[
        str | None,
        repeated_text(
            "where the number of chunks was chosen: operation_bytes and times_ps, as JSON; else null",
            since=2,
            json_texts=(),
        ),
    ] = None
    forwarding: Annotated[
        str,
        repeated_text(
            "when a switch sends a chunk on: all of it is stored, or it cuts through",
            since=2,
            fill="stored",
            allowed=("stored", "cut_through"),
        ),
    ] = "stored"


SYNTHESES = RecordType(
    name="synthesis",
    row=SynthesisRow,
    order=("topology", "collective", "chunks_per_npu", "chunk_bytes", "asked", "key"),
    status="status",
    transient=(FAILED, TIMEOUT),
)
"""The record type of syntheses."""


_HEADER = (
    "topology",
    "collective",
    "chunk bytes",
    "k",
    "synthesizer",
    "time",
    "bound",
    "gap",
    "best fixed",
    "ratio",
)
_ASKED = 4  # so many columns are of what was asked for; then comes how it is forwarded, if that differs


def table_text(rows: Sequence[SynthesisRow]) -> str:
    """Return a line per row below a header; `ratio` is how much longer the best fixed algorithm takes.

    Where some rows have switches that cut through, `forwarding` tells rows of both kinds apart.
    """
    lines: list[tuple[str, ...]] = [_HEADER, *map(_cells, rows)]
    if any(row.forwarding != "stored" for row in rows):
        forwarding = ("forwarding", *(row.forwarding for row in rows))
        lines = [(*line[:_ASKED], cell, *line[_ASKED:]) for line, cell in zip(lines, forwarding, strict=True)]
    return "\n".join(aligned(lines, left=range(len(lines[0]))))


def _cells(row: SynthesisRow) -> tuple[str, ...]:
    asked = (
        row.topology,
        row.collective,
        row.chunk_bytes,
        str(row.chunks_per_npu),
        row.synthesizer or row.asked,
    )
    if row.time_ps is None:
        return (*map(printable, asked), row.status, "", "", "", "")
    gap = "optimal" if row.optimal else f"{row.gap_pct:.2f} %"
    ratio = "" if not row.best_fixed_ps else f"{row.best_fixed_ps / max(1, row.time_ps):.2f}"
    times = (format_duration_ns(row.time_ps / 1000), format_duration_ns((row.bound_ps or 0) / 1000))
    return (*map(printable, asked), *times, gap, row.best_fixed or "-", ratio)
