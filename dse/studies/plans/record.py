"""The record type of plans: what was asked, the best plan that was found, and how good it is."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from dse.base.texts import cut, printable, table
from dse.base.units import format_count
from dse.planner.questions.bottleneck import groups_text
from dse.planner.throughput import duration
from dse.studies.store.records import (
    Column,
    RecordType,
    count,
    flag,
    percent,
    rate,
    repeated_text,
    seconds,
    text,
)

OK, NOTHING_FITS, FAILED = "ok", "nothing_fits", "failed"

time_ms = functools.partial(Column, "double", "ms")
price = functools.partial(Column, "double", "price")


@dataclass(frozen=True)
class PlanRow:
    """One plan; figures are None where none was found, and `reason` says why."""

    cluster: Annotated[str, text("the cluster as it was asked for")]
    model: Annotated[str, text("the model, or the folders of profiles")]
    gpus: Annotated[int, count("GPUs of the cluster", least=1)]
    gpus_by_type: Annotated[str, repeated_text("GPUs of each type, as JSON")]
    layers: Annotated[int, count("layers with embedding and head", least=1)]
    gbs: Annotated[int, count("sequences of a step", least=1)]
    costs: Annotated[str, repeated_text("where times are from: files, model or calibrated")]
    asked: Annotated[str, text("the planner that was asked for")]
    cost_model: Annotated[str, text("the cost model", allowed=("compat", "strict", "step"))]
    allow_mixed_stages: Annotated[bool, flag("whether a stage may have GPUs of several types")]
    max_tp: Annotated[int, count("largest tensor degree that was allowed", least=1)]
    memory_reserve: Annotated[float, Column("double", "1", "share of memory left free (strict)")]
    time_limit_s: Annotated[float | None, seconds("seconds of the search; null: as long as it needs")]
    status: Annotated[str, repeated_text("how it ended", allowed=(OK, NOTHING_FITS, FAILED))]
    reason: Annotated[str, repeated_text("why there is no plan")]
    planner: Annotated[str | None, repeated_text("the planner that found it")]
    cost_ms: Annotated[float | None, time_ms("time of a step")]
    bound_ms: Annotated[float | None, time_ms("proven lower bound on every plan")]
    gap_pct: Annotated[float | None, percent("by how much the plan is above the bound")]
    optimal: Annotated[bool | None, flag("whether the plan is proven to be best")]
    count: Annotated[int | None, count("what the walk of Metis counts; null: not a walk")]
    plans: Annotated[
        int | None, count("plans priced (walks, enumerate), labels (exact), beams and boxes (anytime)")
    ]
    stages: Annotated[int | None, count("stages of the plan", least=1)]
    batches: Annotated[int | None, count("micro-batches of a step", least=1)]
    plan: Annotated[str | None, text("the plan with the terms of every stage, as JSON")]
    price_per_hour: Annotated[float | None, price("of all GPUs; null: unknown")]
    price_per_step: Annotated[float | None, price("of a step; null: unknown")]
    memory_share_pct: Annotated[float | None, percent("of its memory that the fullest GPU needs")]
    search_s: Annotated[float | None, seconds("time of the search")]
    key: Annotated[str, text("a hash of all that the plan depends on")]
    tokens_per_s: Annotated[float | None, rate("of the plan; null: profiles without a model", since=2)] = None
    mfu_pct: Annotated[
        float | None, percent("model FLOPs by the peak of all GPUs; null: unknown", since=2)
    ] = None


PLANS = RecordType(
    name="plan",
    row=PlanRow,
    order=("cluster", "model", "gbs", "asked", "cost_model", "key"),
    status="status",
    transient=(FAILED,),
)
"""The record type of plans."""


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
