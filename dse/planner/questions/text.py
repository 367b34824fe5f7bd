"""Answers to questions as plain data and as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dse.base.texts import counted, table
from dse.base.units import format_bytes, format_count
from dse.planner.files.documents import shown_plan
from dse.planner.files.records import gap_of
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.ranks import stage_spans
from dse.planner.questions.bottleneck import groups_text, types_of_stages
from dse.planner.questions.failures import Candidate, Replan
from dse.planner.questions.growth import Growth
from dse.planner.questions.prices import PriceRange
from dse.planner.questions.runs import RUN_HEADER, run_cells
from dse.planner.questions.subsets import Subset
from dse.planner.search.automatic import useful_bound
from dse.planner.throughput import Throughput, duration


def subset_entry(subset: Subset) -> dict[str, Any]:
    """Return what is known of a subset."""
    best = subset.result.best
    return {
        "nodes": dict(subset.nodes),
        "gpus": subset.gpus,
        "step_ms": subset.step_ms,
        "bound_ms": useful_bound(subset.result.bound_ms),
        "gap": gap_of(subset.result),
        "optimal": subset.result.optimal,
        **_throughput(subset.throughput),
        "price_per_hour": subset.price_per_hour,
        "price_per_step": subset.price_per_step,
        "memory_share": subset.memory_share,
        "plan": None if best is None else shown_plan(subset.problem.cluster, best),
    }


def _throughput(found: Throughput | None) -> dict[str, Any]:
    return dict.fromkeys(Throughput._fields) if found is None else found._asdict()


def subsets_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a line per subset, and for subsets of a front why each is on it."""
    if not entries:
        return "no subset of the nodes has a plan"
    return "\n".join(table(*subsets_table(entries)))


def subsets_table(entries: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the headings of such a table, of which the nodes are the first, and the texts of its rows."""
    if not entries:
        return ["nodes"], []
    on_front, has_runs = "kept_for" in entries[0], "run_time_s" in entries[0]
    has_tokens = any(entry["tokens_per_s"] is not None for entry in entries)
    header = ["nodes", "step", *["tokens/s"] * has_tokens, "% above bound", "price/hour", "price/1000 steps"]
    header += ["memory %", *RUN_HEADER[: 3 * has_runs], *["kept for"] * on_front, "plan"]
    rows = []
    for entry in entries:
        rows.append(
            (
                _nodes(entry["nodes"]),
                "none found" if entry["step_ms"] is None else duration(entry["step_ms"]),
                *["-" if entry["tokens_per_s"] is None else format_count(entry["tokens_per_s"])] * has_tokens,
                _gap(entry),
                _or_dash(entry["price_per_hour"], 1, 2),
                _or_dash(entry["price_per_step"], 1000, 3),
                _or_dash(entry["memory_share"], 100, 0),
                *(run_cells(entry) if has_runs else []),
                *([entry["kept_for"]] if on_front else []),
                "" if entry["plan"] is None else _plan(entry["plan"]),
            )
        )
    return header, rows


def price_entries(ranges: Sequence[PriceRange]) -> list[dict[str, Any]]:
    """Return the ranges of prices; the last one has no end."""
    return [
        {
            "type": one.type,
            "from": one.start,
            "to": None if math.isinf(one.end) else one.end,
            "price_per_step_at_from": one.price_per_step,
            "per_unit_of_price": one.slope,
            **subset_entry(one.subset),
        }
        for one in ranges
    ]


def prices_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return a line per range of prices."""
    header = ("price of", "from", "to", "nodes", "step", "% above bound", "price/1000 steps at from", "plan")
    rows = [
        (
            entry["type"],
            f"{entry['from']:.4g}",
            "any" if entry["to"] is None else f"{entry['to']:.4g}",
            _nodes(entry["nodes"]),
            duration(entry["step_ms"]),
            _gap(entry),
            f"{1000 * entry['price_per_step_at_from']:.3f}",
            _plan(entry["plan"]),
        )
        for entry in entries
    ]
    return "\n".join(table(header, rows))


def growth_entries(found: Sequence[Growth]) -> list[dict[str, Any]]:
    """Return what more nodes bring."""
    return [
        {
            "kind": one.kind,
            "nodes": one.nodes,
            "gpus": one.problem.cluster.gpus,
            "step_ms": None if one.result.cost is None else one.result.cost.cost_ms,
            "optimal": one.result.optimal,
            **_throughput(Subset({}, one.problem, one.result).throughput),
            "gain": one.gain,
            "plan": None if one.result.best is None else shown_plan(one.problem.cluster, one.result.best),
        }
        for one in found
    ]


def growth_text(entries: Sequence[Mapping[str, Any]], base_ms: float) -> str:
    """Return a line per number of new nodes, below the time without them."""
    header = ("new nodes", "step", "faster by %", "advice", "plan")
    rows = []
    for entry in entries:
        gain = entry["gain"]
        advice = "no plan" if gain is None else "use them" if round(100 * gain, 2) > 0 else "leave them idle"
        rows.append(
            (
                f"{entry['nodes']} {entry['kind']}",
                "none found" if entry["step_ms"] is None else duration(entry["step_ms"]),
                "-" if gain is None else f"{100 * gain:.2f}",
                advice,
                "" if entry["plan"] is None else _plan(entry["plan"]),
            )
        )
    return "\n".join([f"without: {duration(base_ms)} per step", *table(header, rows)])


def replan_entry(problem: PlanProblem, found: Replan) -> dict[str, Any]:
    """Return the plans after a failure."""
    host = problem.cluster.hosts[found.host]
    return {
        "host": found.host,
        "address": host.address,
        "type": host.type,
        "slack": found.slack,
        "weights_bytes": found.weights_bytes,
        "fastest": _candidate(problem, found, found.fastest),
        "nearest": _candidate(problem, found, found.nearest),
    }


def replans_text(entries: Sequence[Mapping[str, Any]], base_ms: float) -> str:
    """Return two lines per failure: the fastest plan, and the one that keeps most."""
    header = ("failed", "plan", "step", "slower by %", "moves", "idle nodes", "stages")
    rows = []
    for entry in entries:
        for name in ("fastest", "nearest"):
            one = entry[name]
            failed = f"{entry['type']} host {entry['host']}"
            if one is None:
                rows.append((failed, name, "none found", "-", "-", "-", ""))
                continue
            rows.append(
                (
                    failed,
                    name,
                    duration(one["step_ms"]),
                    f"{100 * (one['step_ms'] / base_ms - 1):.2f}",
                    format_bytes(one["moved_bytes"]),
                    str(len(one["idle_hosts"])),
                    _plan(one["plan"]),
                )
            )
    return "\n".join([f"before: {duration(base_ms)} per step", *table(header, rows)])


def _candidate(problem: PlanProblem, found: Replan, one: Candidate | None) -> dict[str, Any] | None:
    if one is None:
        return None
    spans = stage_spans(one.problem.cluster, one.plan)
    used = {found.host, *(one.hosts[span.host] for stage in spans for span in stage)}
    return {
        "step_ms": one.cost_ms,
        "moved_bytes": one.moved_bytes,
        "hosts": sorted(used - {found.host}),
        "idle_hosts": [number for number in range(len(problem.cluster.hosts)) if number not in used],
        "plan": shown_plan(one.problem.cluster, one.plan),
    }


def _nodes(nodes: Mapping[str, int]) -> str:
    return " + ".join(f"{count} {name}" for name, count in nodes.items() if count)


def _plan(plan: Mapping[str, Any]) -> str:
    batches = counted(plan["batches"], "batch", "batches")
    text = f"{','.join(types_of_stages(plan))}: {groups_text(plan)}, {batches}"
    return text if len(text) <= 70 else f"{text[:69]}…"


def _gap(entry: Mapping[str, Any]) -> str:
    if entry["optimal"]:
        return "0"
    return "-" if entry["gap"] is None else f"{100 * entry['gap']:.2f}"


def _or_dash(value: float | None, factor: float, digits: int) -> str:
    return "-" if value is None else f"{value * factor:.{digits}f}"
