"""The data of the page, and the page: one HTML file with its style and program inside.

Levels of detail of a drawing: nodes collapsed to modules or to blocks, and where each of them stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.base.pages import TABLE_PLOTS, joined, page_style, script_json, template_environment
from dse.base.units import format_bytes, format_count, format_duration_ns
from dse.partition.files.results import DeviceRow, cost_text, gap, traffic
from dse.partition.graphs.graph import ModelGraph
from dse.partition.graphs.sources.source import Source
from dse.partition.problem.constraints import topological_order
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


MOST_GROUPS = 4000  # of a level: more cannot be told apart on a screen
READABLE = 120
_MOST_DEPTH = 8
_SWEEPS = 4
_ASPECT = 0.2  # of a step down over a step to the right, for a screen


@dataclass(frozen=True)
class Level:
    """One drawing: the group of each node, names of groups, and their places as (layer, row)."""

    title: str
    group_of: tuple[int, ...]
    names: tuple[str, ...]

    def to_json(self, graph: ModelGraph, labels: Sequence[int]) -> dict[str, Any]:
        """Return what is drawn: groups with their weight on each device, edges with bytes, places."""
        shares: list[dict[int, list[float]]] = [{} for _ in self.names]
        for node, group in enumerate(self.group_of):
            share = shares[group].setdefault(labels[node], [0, 0.0])
            share[0] += 1
            share[1] += graph.node_weights[node]
        edges: dict[tuple[int, int], list[float]] = {}
        for number, (tail, head) in enumerate(graph.edges):
            ends = (self.group_of[tail], self.group_of[head])
            if ends[0] != ends[1]:
                edge = edges.setdefault(ends, [0, 0.0, 0])
                edge[0] += 1
                edge[1] += graph.edge_bytes[number] if graph.edge_bytes else 0.0
                edge[2] += labels[tail] != labels[head]
        return {
            "title": self.title,
            "names": self.names,
            "shares": [[[device, *share] for device, share in sorted(one.items())] for one in shares],
            "edges": [[*ends, *figures] for ends, figures in edges.items()],
            "places": places(len(self.names), list(edges)),
        }


def levels(source: Source, graph: ModelGraph, labels: Sequence[int]) -> list[Level]:
    """Return drawings from coarse to fine; the finest has every node, if these are not too many.

    Modules nest by the dots in their names; without modules, nodes that follow each other on one device make
    blocks.
    """
    found: list[Level] = []
    modules = [operator.module.split(".") if operator.module else [] for operator in source.operators]
    depth_of_all = min(_MOST_DEPTH, max(map(len, modules)))
    for depth in range(1, depth_of_all + 1):
        names = [".".join(parts[:depth]) or graph.names[node] for node, parts in enumerate(modules)]
        level = _named(f"modules to depth {depth}", names)
        if len(level.names) <= MOST_GROUPS and len(level.names) > (len(found[-1].names) if found else 1):
            found.append(level)
    if not found:
        found.append(_blocks(graph, labels))
    if len(found[-1].names) < graph.nodes <= MOST_GROUPS:
        found.append(Level("all nodes", tuple(range(graph.nodes)), tuple(graph.names)))
    return found


def readable(found: Sequence[Level]) -> int:
    """Return the number of the finest level that can be read at a glance."""
    return max((n for n, level in enumerate(found) if len(level.names) <= READABLE), default=0)


def places(groups: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return layer and row of each group: a layer after what it needs, rows near those of neighbours.

    Layers by longest path, rows by a few sweeps of the barycentre heuristic (Sugiyama et al. 1981). Edges of
    cycles between collapsed groups count in the direction in which they come first.
    """
    forward = [(a, b) if a < b else (b, a) for a, b in edges]
    layer = [0] * groups
    following: list[list[int]] = [[] for _ in range(groups)]
    neighbours: list[list[int]] = [[] for _ in range(groups)]
    for a, b in forward:
        following[a].append(b)
        neighbours[a].append(b)
        neighbours[b].append(a)
    for group in range(groups):
        for other in following[group]:
            layer[other] = max(layer[other], layer[group] + 1)
    rows: dict[int, list[int]] = {}
    for group in range(groups):
        rows.setdefault(layer[group], []).append(group)
    row = [0.0] * groups
    for members in rows.values():
        for position, group in enumerate(members):
            row[group] = position - (len(members) - 1) / 2
    for sweep in range(_SWEEPS):
        for number in sorted(rows, reverse=bool(sweep % 2)):
            members = rows[number]
            mean = {
                group: sum(row[other] for other in neighbours[group]) / max(1, len(neighbours[group]))
                for group in members
            }
            members.sort(key=lambda group: (mean[group], group))
            for position, group in enumerate(members):
                row[group] = position - (len(members) - 1) / 2
    return _wrapped(layer, row)


def _wrapped(layer: Sequence[int], row: Sequence[float]) -> list[list[int]]:
    """Break a long drawing into lines below each other, so that it is about twice as wide as high."""
    layers = max(layer) + 1
    height = 2 * (round(max(row) - min(row)) + 2)
    wide = max(8, math.ceil(math.sqrt(_ASPECT * layers * height)))
    return [
        [layer[group] % wide, round(2 * row[group]) + layer[group] // wide * height]
        for group in range(len(layer))
    ]


def _named(title: str, names: Sequence[str]) -> Level:
    numbers: dict[str, int] = {}
    return Level(title, tuple(numbers.setdefault(name, len(numbers)) for name in names), tuple(numbers))


def _blocks(graph: ModelGraph, labels: Sequence[int]) -> Level:
    """Collapse nodes that follow each other in topological order on one device; large runs are cut."""
    order = topological_order(graph)
    most = max(1, -(-graph.nodes // READABLE))
    group_of = [0] * graph.nodes
    members: list[list[int]] = []
    for node in order:
        if members and labels[members[-1][0]] == labels[node] and len(members[-1]) < most:
            members[-1].append(node)
        else:
            members.append([node])
        group_of[node] = len(members) - 1
    names = [
        graph.names[block[0]]
        if len(block) == 1
        else f"{graph.names[block[0]]} … {graph.names[block[-1]]} ({len(block)})"
        for block in members
    ]
    if len(members) > MOST_GROUPS:
        return Level("blocks", tuple(group * MOST_GROUPS // len(members) for group in group_of), _few(names))
    return Level("blocks of nodes on one device", tuple(group_of), tuple(names))


def _few(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        names[-(-number * len(names) // MOST_GROUPS)] if number else names[0] for number in range(MOST_GROUPS)
    )
