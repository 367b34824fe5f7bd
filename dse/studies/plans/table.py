"""Rows of a study of plans as text."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dse.base.tables import table
from dse.base.texts import cut, printable
from dse.base.units import format_count
from dse.planner.durations import duration
from dse.planner.questions.bottleneck import groups_text
from dse.studies.plans.record import PlanRow

_HEADER = (
    "cluster",
    "model",
    "batch",
    "planner",
    "cost",
    "step",
    "tokens/s",
    "MFU %",
    "% above bound",
    "price/1000 steps",
    "plan",
)


def table_text(rows: Sequence[PlanRow]) -> str:
    """Return a line per row below a header."""
    return "\n".join(table(_HEADER, [_cells(row) for row in rows]))


def _cells(row: PlanRow) -> tuple[str, ...]:
    asked = (
        printable(row.cluster),
        printable(row.model),
        str(row.gbs),
        row.planner or row.asked,
        row.cost_model,
    )
    if row.cost_ms is None or row.plan is None:
        return (*asked, row.status, "", "", "", "", cut(printable(row.reason)))
    gap = "0" if row.optimal else "-" if row.gap_pct is None else f"{row.gap_pct:.2f}"
    price = "-" if row.price_per_step is None else f"{1000 * row.price_per_step:.3f}"
    plan = groups_text(json.loads(row.plan))
    tokens = "-" if row.tokens_per_s is None else format_count(row.tokens_per_s)
    mfu = "-" if row.mfu_pct is None else f"{row.mfu_pct:.1f}"
    return (*asked, duration(row.cost_ms), tokens, mfu, gap, price, cut(plan))
