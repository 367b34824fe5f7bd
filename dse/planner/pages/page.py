"""The data of the page, and the page: one HTML file with its style inside and no program."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dse.pages import inlined, template_environment
from dse.planner.cluster import Host
from dse.planner.output import nothing_text
from dse.planner.why import groups_text, parts_ms, reasons

TEMPLATES = Path(__file__).parent / "templates"
_MOST_ROWS = 200
_HUES = 137.508  # the golden angle: neighbouring stages differ most


class Cell(NamedTuple):
    """Consecutive GPUs of a host with one stage; None: idle."""

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
    """Return the page of a document; it loads nothing and runs no program."""
    environment = template_environment(TEMPLATES)
    environment.filters.update(number=lambda x: f"{x:.4g}", exact=lambda x: f"{x:.7g}")
    best = data["best"]
    rows = host_rows(data)
    stages = best["stages"] if best else []
    slowest = max([_period_ms(stage) for stage in stages], default=0.0) or 1.0
    return environment.get_template("plan.html").render(
        data=data,
        best=best,
        nothing=nothing_text(data),
        rows=rows[:_MOST_ROWS],
        left_out=sum(row.hosts for row in rows[_MOST_ROWS:]),
        widest=max((host.gpus for host in _hosts(data)), default=1),
        stages=stages,
        widths=[100 * _period_ms(stage) / slowest for stage in stages],
        colours=[f"hsl({index * _HUES % 360:.0f} 60% 45%)" for index in range(len(stages))],
        reasons=reasons(data),
        parts=sorted(parts_ms(best, data["cost_model"]).items(), key=lambda part: -part[1]) if best else [],
        ranking=[(plan, groups_text(plan)) for plan in data["ranking"]],
        style=inlined(TEMPLATES / "plan.css"),
    )


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


def _period_ms(stage: Mapping[str, Any]) -> float:
    return (stage["execution_ms"] or 0.0) + (stage["link_ms"] or 0.0)
