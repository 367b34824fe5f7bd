"""Rows of syntheses as a table for people."""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.tables import aligned
from dse.base.texts import printable
from dse.base.units import format_duration_ns
from dse.studies.syntheses.record import SynthesisRow

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
