"""Runs of traces as one offline page: the replay first, then every case, its parts and its notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.answers.runs import Parts, parts_of
from dse.base.pages import page_style, template_environment
from dse.base.units import format_duration_ns
from dse.studies.recorded import Case, RunRow, Traces
from dse.studies.recorded.table import rows_text
from dse.studies.recorded.text import headline, overview

TEMPLATES = Path(__file__).parent / "templates"
_MOST_CASES = 64


def render_page(traces: Traces, wanted: Sequence[Case], rows: Sequence[RunRow]) -> str:
    """Return the page of all cases; it loads nothing and runs no program.

    Raises:
        InputError: another program than the engine simulated a case.
    """
    shown = list(zip(wanted, rows, strict=True))[:_MOST_CASES]
    cases = [_case(case, row) for case, row in shown]
    longest = max((each["wall_time_ns"] or 0 for each in cases), default=0) or 1
    return (
        template_environment(TEMPLATES)
        .get_template("runs.html")
        .render(
            title=traces.name,
            headline=headline(traces, wanted, rows),
            overview=overview(traces).strip(),
            table=rows_text(rows),
            cases=cases,
            longest=longest,
            left_out=len(rows) - len(cases),
            time=format_duration_ns,
            style=page_style(TEMPLATES / "runs.css"),
        )
    )


def _case(case: Case, row: RunRow) -> dict[str, Any]:
    asked = {"system": case.place, **case.asked}
    parts: Parts | None = parts_of(case) if row.status == "ok" else None
    return {
        "title": ", ".join(f"{key}={value}" for key, value in asked.items()),
        "status": row.status,
        "reason": row.reason,
        "wall_time_ns": row.wall_time_ns,
        "sections": () if parts is None else parts.sections,
        "notes": () if parts is None or case.traces.is_recorded else parts.notes,
    }
