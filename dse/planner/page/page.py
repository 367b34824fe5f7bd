"""The data of the page, and the page: one HTML file with its style and the program of its tables."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dse.base.pages import TABLE_PLOTS, joined, page_style, template_environment
from dse.base.texts import counted
from dse.base.units import format_bytes, format_count
from dse.planner.files.output import (
    counted_things,
    excluded_lines,
    fidelity_text,
    homogeneous_lines,
    layers_text,
    nothing_text,
    proof_text,
)
from dse.planner.problem.cluster import Host
from dse.planner.problem.steps import way_of, way_text
from dse.planner.questions.bottleneck import batches_text, groups_text, parts_ms, period_ms, reasons
from dse.planner.questions.text import subsets_table
from dse.planner.throughput import duration

TEMPLATES = Path(__file__).parent / "templates"
_MOST_ROWS = 200
_WAY_AXES = (
    *(("cp", "cp"), ("ep", "ep"), ("zero_stage", "ZeRO"), ("micro_batch", "micro-batch")),
    *(("recompute", "recompute"), ("chunks", "chunks")),
)


class Cell(NamedTuple):
    """Consecutive GPUs of a host with one stage; None means idle."""

    stage: int | None
    gpus: int


class Row(NamedTuple):
    """Hosts in a row that are cut alike: their first and last address, how many, type and cells."""

    first: str
    last: str
    hosts: int
    type: str
    island: int
    cells: tuple[Cell, ...]


def render_page(data: Mapping[str, Any]) -> str:
    """Return the page of a document; it loads nothing, and can be read without its program."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(time=duration, layers=lambda x: layers_text(x).replace("-", "–"))
    environment.filters.update(batches=batches_text, way=way_text, size=format_bytes)
    best = data["best"]
    rows = host_rows(data)
    stages = best["stages"] if best else []
    periods = [
        0.0 if stage["execution_ms"] is None else period_ms(stage, data["cost_model"]) for stage in stages
    ]
    slowest = max(periods, default=0.0) or 1.0
    return environment.get_template("plan.html").render(
        data=data,
        best=best,
        nothing=nothing_text(data),
        rows=rows[:_MOST_ROWS],
        left_out=sum(row.hosts for row in rows[_MOST_ROWS:]),
        widest=max((host.gpus for host in _hosts(data)), default=1),
        stages=stages,
        widths=[100 * period / slowest for period in periods],
        proof=proof_text(data),
        figures=_figures(best, periods) if best else [],
        fidelity=fidelity_text(data),
        excludes=_sentence("; ".join(excluded_lines(data))),
        alone=[_sentence(line) for line in homogeneous_lines(data)] if best else [],
        things=counted_things(data),
        reasons=reasons(data),
        parts=sorted(parts_ms(best, data["cost_model"]).items(), key=lambda part: -part[1]) if best else [],
        ranking=[(plan, groups_text({**plan, "ways": ()})) for plan in data["ranking"]],
        axes=ranking_axes(data["ranking"]),
        facts=_facts(data),
        command=shlex.join(map(str, data["provenance"].get("command", ()))),
        style=page_style(TEMPLATES / "plan.css"),
        program=joined(TABLE_PLOTS),
    )


def ranking_axes(ranking: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the axes in which plans of a ranking differ, with a text of each plan: 8, or by stage 8 | 4."""
    columns: dict[str, list[str]] = {}
    for plan in ranking:
        for name, values in _axes_of(plan).items():
            columns.setdefault(name, []).append(" | ".join(dict.fromkeys(map(str, values))))
    return {name: texts for name, texts in columns.items() if len(set(texts)) > 1}


def _axes_of(plan: Mapping[str, Any]) -> dict[str, Iterable[Any]]:
    """The values of a plan's stages by axis."""
    ways = [way_of(words) for words in plan.get("ways", ())]
    of_ways = {} if not ways else {title: [getattr(way, name) for way in ways] for name, title in _WAY_AXES}
    return {
        "batches": [plan["batches"]],
        "stages": [len(plan["groups"])],
        "GPUs": [sum(plan["groups"])],
        "dp": [dp for dp, _ in plan["strategies"]],
        "tp": [tp for _, tp in plan["strategies"]],
        **of_ways,
    }


def _facts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The rows of the question: GPUs of each type with their memory and price, and the keys as given."""
    cluster = data["problem"]["cluster"]
    gpus: dict[str, list[int]] = {}
    for host in _hosts(data):
        gpus.setdefault(host.type, []).append(host.gpus)
    facts = []
    for type_, counts in gpus.items():
        words = [f"{sum(counts)} GPUs on {counted(len(counts), 'host')}"]
        words.append(f"{format_bytes(round(cluster['memory_gib'][type_] * 2**30))} each")
        if type_ in cluster["price_per_hour"]:
            words.append(f"{cluster['price_per_hour'][type_]:g} an hour each")
        facts.append((type_, ", ".join(words)))
    given = data["provenance"].get("configuration", {})
    asked = {"gbs": data["problem"]["gbs"], **given}
    return facts + [(name, str(value)) for name, value in asked.items()]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _figures(best: Mapping[str, Any], periods: Sequence[float]) -> list[tuple[str, str, str]]:
    """The cards next to the step: throughput, shape, slowest stage and price."""
    batches = f"{batches_text(best['batches'])} per step"
    figures = [*_throughput(best), ("shape", counted(len(periods), "stage"), batches)]
    slowest = best["stages"][periods.index(max(periods))]
    what = f"stage {slowest['stage']}, on {', '.join(slowest['types'])}"
    figures.append(("slowest stage", duration(max(periods)), f"{what}, per micro-batch"))
    if best.get("price_per_step") is not None:
        figures.append(
            ("1,000 steps cost", f"{1000 * best['price_per_step']:.2f}", "by the prices of the GPU types")
        )
    return figures


def _throughput(best: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    tokens, mfu = best["tokens_per_s"], best["mfu_pct"]
    if best["sequences_per_s"] is None:
        return []
    if tokens is None:
        return [("sequences/s", format_count(best["sequences_per_s"]), f"no tokens/s: {best['mfu_note']}")]
    each = f"{format_count(best['sequences_per_s'])} sequences/s"
    return [
        ("tokens/s", format_count(tokens), each),
        ("MFU", "unknown" if mfu is None else f"{mfu:.1f} %", best["mfu_note"]),
    ]


def host_rows(data: Mapping[str, Any]) -> list[Row]:
    """Return the hosts in their order, neighbours that are cut alike as one row."""
    taken: dict[int, list[tuple[int, Cell]]] = {}
    for stage in (data["best"] or {}).get("stages", ()):
        for host in stage["hosts"]:
            cell = Cell(stage["stage"], host["gpus"])
            taken.setdefault(host["host"], []).append((host["first"], cell))
    hosts = [(host, _cells(host.gpus, taken.get(number, []))) for number, host in enumerate(_hosts(data))]
    rows = []
    for (type_, island, cells), group in groupby(
        hosts, key=lambda entry: (entry[0].type, entry[0].island, entry[1])
    ):
        alike = [host.address for host, _ in group]
        rows.append(Row(alike[0], alike[-1], len(alike), type_, island, cells))
    return rows


def _hosts(data: Mapping[str, Any]) -> list[Host]:
    return [Host(*values) for values in data["problem"]["cluster"]["hosts"]]


def _cells(gpus: int, taken: list[tuple[int, Cell]]) -> tuple[Cell, ...]:
    """The stages of a host's GPUs in their order, and those without one."""
    cells: list[Cell] = []
    reached = 0
    for first, cell in sorted(taken):
        if first > reached:
            cells.append(Cell(None, first - reached))
        cells.append(cell)
        reached = first + cell.gpus
    return (*cells, Cell(None, gpus - reached)) if reached < gpus else tuple(cells)


# Columns whose cells are texts with units, and the figures by which they are sorted.
_FIGURES = {"step": "step_ms", "tokens/s": "tokens_per_s", "run": "run_time_s"}
_TEXTS = ("kept for", "plan")
_HIGHEST = ("tokens/s", "effective %")


def render_subsets(
    title: str, about: str, entries: Sequence[Mapping[str, Any]], asked: Mapping[str, str], command: str
) -> str:
    """Return the page of the entries of `subset_entry`; it loads nothing.

    `asked` are the keys as they were given.
    """
    header, rows = subsets_table(entries)
    types = list(dict.fromkeys(type_ for entry in entries for type_ in entry["nodes"]))
    shown = [
        (
            [entry["nodes"].get(type_, 0) for type_ in types],
            [
                (name, text, entry.get(_FIGURES.get(name, "")))
                for name, text in zip(header[1:], cells[1:], strict=True)
            ],
        )
        for entry, cells in zip(entries, rows, strict=True)
    ]
    return (
        template_environment(TEMPLATES)
        .get_template("subsets.html")
        .render(
            title=title,
            about=about,
            facts=sorted(asked.items()),
            command=command,
            types=types,
            header=header[1:],
            figures=[name for name in header if name not in _TEXTS],
            highest=_HIGHEST,
            rows=shown,
            style=page_style(TEMPLATES / "plan.css"),
            program=joined(TABLE_PLOTS),
        )
    )
