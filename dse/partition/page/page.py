"""The data of the page, and the page: one HTML file with its style and program inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dse.base.pages import TABLE_PLOTS, joined, page_style, script_json, template_environment
from dse.base.units import format_bytes, format_count, format_duration_ns
from dse.partition.files.results import DeviceRow, cost_text, gap, traffic
from dse.partition.graphs.sources.source import Source
from dse.partition.page.levels import levels, readable
from dse.partition.problem.problem import Partition, PartitionProblem

TEMPLATES = Path(__file__).parent / "templates"
_MOST_PAIRS = 1000  # of devices that are listed


def render_page(
    source: Source,
    problem: PartitionProblem,
    found: Partition,
    rows: Sequence[DeviceRow],
    step: dict[str, Any],
) -> str:
    """Return the page of a partition; it loads nothing, and runs without a network.

    `step` is the simulated step as `dse.partition.step` describes it; empty if there is none.
    """
    replicas = [row.replicas for row in rows]
    drawings = levels(source, problem.graph, found.labels)
    pairs = traffic(problem, found.labels)
    environment = template_environment(TEMPLATES)
    environment.filters.update(
        duration=format_duration_ns, size=format_bytes, count=format_count, percent=lambda x: f"{100 * x:.2f}"
    )
    data = {
        "levels": [level.to_json(problem.graph, found.labels) for level in drawings],
        "level": readable(drawings),
        "devices": [row.name for row in rows],
        "bars": step.get("bars", []),
    }
    return environment.get_template("partition.html").render(
        facts=_facts(source, problem, found, replicas),
        name=Path(source.name).name,
        problem=problem,
        found=found,
        cost=cost_text(problem, found.cost),
        bound=None if found.bound is None else cost_text(problem, found.bound),
        gap=gap(found),
        rows=rows,
        fullest=max(rows, key=lambda row: row.memory_bytes),
        pairs=pairs[:_MOST_PAIRS],
        left_out=len(pairs[_MOST_PAIRS:]),
        step=step,
        levels=[f"{level.title} ({len(level.names)})" for level in drawings],
        level=readable(drawings),
        style=page_style(TEMPLATES / "partition.css"),
        program=joined(TEMPLATES / "partition.js", TABLE_PLOTS),
        data=script_json(data),
    )


def _facts(
    source: Source, problem: PartitionProblem, found: Partition, replicas: Sequence[int]
) -> list[tuple[str, str]]:
    """The rows of the question: graph, devices with their limits, objective and constraints."""
    limits = dict.fromkeys(map(format_bytes, problem.devices.memory_bytes))
    facts = [
        ("graph", source.name),
        ("devices", str(problem.devices.count)),
        ("memory of a device", ", ".join(limits) or "not limited"),
        ("objective", problem.objective),
        ("pinned nodes", str(len(problem.pinned))),
        ("groups that stay together", str(len(problem.together))),
    ]
    if max(replicas) > 1:
        facts.append(("replicas of the stages", ", ".join(map(str, replicas))))
    if problem.objective == "process_mapping":
        facts.append(("imbalance", f"{problem.imbalance:g}"))
    return [*facts, ("partitioner", found.partitioner)]
