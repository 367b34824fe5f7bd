"""Effects of failures and variances on a schedule, as plain data and as rows for people; times in ps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dse.base.units import format_duration_ns
from dse.collectives.files.summary import duration, times_as_long
from dse.collectives.problem.schedule import Schedule
from dse.collectives.robust.failures import Failure
from dse.collectives.robust.repair import Repair
from dse.collectives.robust.settings import Draws
from dse.collectives.robust.variance import Spread
from dse.inputs.networks import LinkGraph

MOST_CRITICAL = 10
PERCENTS = (0, 1, *range(5, 100, 5), 99, 100)
"""Of which `percentiles_ps` are the times."""
_MOST_SHOWN = 6
Rows = list[tuple[str, str]]


def failures_summary(schedule: Schedule, failure: Failure, found: Repair) -> dict[str, Any]:
    """Return the object `failures` of a summary; `kept` is a share, `bound_ps` None after the start."""
    graph = schedule.problem.graph
    dead = failure.links.nonzero()[0]
    return {
        "failed_links": [[int(graph.sources[link]), int(graph.destinations[link])] for link in dead],
        "failed_npus": list(failure.npus),
        "failed_at_ps": failure.at_ps,
        "before_ps": found.before_ps,
        "repaired_ps": found.repaired.time_ps,
        "resynthesized_ps": found.anew.time_ps,
        "bound_ps": None if failure.at_ps else found.bound_ps,
        "repair_cpu_s": round(found.repair_cpu_s, 6),
        "resynthesis_cpu_s": round(found.anew_cpu_s, 6),
        "sends_before": len(schedule),
        "sends_repaired": len(found.repaired),
        "kept": found.kept,
        "lost_chunks": list(found.lost),
    }


def failure_rows(data: Mapping[str, Any]) -> Rows:
    """Return the rows of `failures_summary`."""
    npus, links = data["failed_npus"], data["failed_links"]
    what = f"NPUs {_listed([str(npu) for npu in npus])}, " if npus else ""
    names = _listed([f"{source}>{destination}" for source, destination in links])
    when = f"at {format_duration_ns(data['failed_at_ps'] / 1000)}" if data["failed_at_ps"] else "at the start"
    before = data["before_ps"]

    def slower(time_ps: int) -> str:
        return f", {times_as_long(time_ps / before)}" if before and time_ps else ""

    repaired, scratch, bound = data["repaired_ps"], data["resynthesized_ps"], data["bound_ps"]
    kept = f"{100 * data['kept']:.1f} % of the sends kept"
    rows = [
        ("failure", f"{what}links {names} {when}"),
        ("before", duration(before)),
        ("repaired", f"{duration(repaired)}{slower(repaired)}, {kept}, CPU {data['repair_cpu_s']:.3g} s"),
        ("from scratch", f"{duration(scratch)}{slower(scratch)}, CPU {data['resynthesis_cpu_s']:.3g} s"),
        ("its bound", "none: of failures at the start only" if bound is None else duration(bound)),
    ]
    lost = data["lost_chunks"]
    if npus:
        rows.append(
            ("lost", f"{len(lost)} chunks: {_listed([str(c) for c in lost])}" if lost else "no chunk")
        )
    return rows


def variance_summary(
    graph: LinkGraph, draws: Draws, seed: int, found: Spread, fixed: Mapping[str, Spread]
) -> dict[str, Any]:
    """Return the object `variance` of a summary: figures, critical links, fixed algorithms, same draws."""
    order = (-found.critical_share).argsort(kind="stable")[:MOST_CRITICAL]
    return {
        **{key: value for key, value in asdict(draws.variance).items() if key != "factors"},
        "draws": draws.count,
        "seed": seed,
        **figures_summary(found),
        "percentiles_ps": found.percentiles_ps(PERCENTS),
        "critical_links": [
            {
                "src": int(graph.sources[link]),
                "dst": int(graph.destinations[link]),
                "critical_share": round(float(found.critical_share[link]), 6),
                "elasticity": round(float(found.elasticity[link]), 6),
            }
            for link in order.tolist()
            if found.critical_share[link] > 0
        ],
        "fixed_algorithms": {
            name: {**figures_summary(each), "percentiles_ps": each.percentiles_ps(PERCENTS)}
            for name, each in fixed.items()
        },
    }


def figures_summary(found: Spread) -> dict[str, Any]:
    """Return the figures of a schedule under draws: times in whole ps, and the slowdown of the mean."""
    figures = found.figures
    slowdown = figures.pop("slowdown")
    return {**{f"{name}_ps": round(value) for name, value in figures.items()}, "slowdown": slowdown}


def variance_rows(data: Mapping[str, Any]) -> Rows:
    """Return the rows of `variance_summary`."""
    names = ("bandwidth_cv", "straggler_share", "straggler_slowdown", "jitter_cv", "spike_share", "spike_ns")
    nominal = {"straggler_slowdown": 1.0}
    chosen = [f"{name} {data[name]:g}" for name in names if data[name] != nominal.get(name, 0.0)]
    if data["correlation"] != "none":
        chosen.append(f"by {data['correlation']}")
    rows = [("variance", f"{', '.join(chosen)}; {data['draws']} draws"), ("mean", _mean(data))]
    rows += [(name, duration(data[f"{name}_ps"])) for name in ("p95", "p99", "cvar95")]
    links = [
        f"{link['src']}>{link['dst']} in {100 * link['critical_share']:.0f} %"
        for link in data["critical_links"][:_MOST_SHOWN]
    ]
    rows.append(("critical", _listed(links) if links else "no link"))
    fixed = sorted(data["fixed_algorithms"].items(), key=lambda item: (item[1]["p95_ps"], item[0]))
    for position, (name, figures) in enumerate(fixed):
        ratio = f", {times_as_long(figures['p95_ps'] / data['p95_ps'])}" if data["p95_ps"] else ""
        text = f"{name} mean {_short(figures['mean_ps'])}, p95 {_short(figures['p95_ps'])}{ratio}"
        rows.append(("fixed" if position == 0 else "", text))
    if "select" in data:
        rows.append(("selected", _selected(data)))
    return rows


def _mean(data: Mapping[str, Any]) -> str:
    return f"{duration(data['mean_ps'])}, {data['slowdown']:.4g} times nominal"


def _selected(data: Mapping[str, Any]) -> str:
    chosen = data["select"]
    figure = chosen["figure"]
    fastest = f"{_short(chosen['fastest_ps'])}, {figure} {_short(chosen['fastest_figure_ps'])}"
    return f"the least {figure} of {chosen['candidates']} schedules; the fastest has {fastest}"


def _short(time_ps: float) -> str:
    return format_duration_ns(time_ps / 1000)


def _listed(texts: list[str]) -> str:
    return ", ".join(texts[:_MOST_SHOWN]) + (
        f" and {len(texts) - _MOST_SHOWN} more" if texts[_MOST_SHOWN:] else ""
    )
