"""A training step with synthesised collectives is the step whose traces have the sends of the schedules."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from dse.collectives import Schedule
from dse.collectives.files.messages import ordered_steps
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.simulation.simulators.made_schedules import schedules_for
from dse.simulation.simulators.synthesized import needs
from dse.simulation.workloads import Workload, generate
from dse.testing.builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    COLL,
    REDUCE_SCATTER,
    TINY,
    Node,
    attribute,
    finish,
    parse,
    recv,
    send,
    system,
    workload,
)

# A rank of a trace has one message under way at a time, until it has arrived; a schedule has one per link.
# They are the same where each NPU has one link out, without latency.
NPUS = 4
LINKS = "4\nsrc,dst,latency_ns,bandwidth_GBps\n0,1,0,50\n1,2,0,20\n2,3,0,100\n3,0,0,33\n"
NAMES = {
    ALL_GATHER: "all_gather",
    ALL_REDUCE: "all_reduce",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_TO_ALL: "all_to_all",
}
_NODES_OF_ONE = 1000  # a collective's nodes are numbered from so many times its own number on


@pytest.fixture
def spec(tmp_path: Path) -> SystemSpec:
    path = tmp_path / "ring.csv"
    path.write_text(LINKS)
    return replace(
        system(),
        network=(Dimension("Graph", NPUS, 1, 0, file=str(path)),),
        collectives=CollectiveAlgorithms(*[("synthesized",)] * 4),
        network_model="congestion_aware",
    )


def fastest(spec: SystemSpec, work: Workload, node: Node) -> tuple[Schedule, int]:
    """The schedule that a collective takes, and the bytes of its chunks."""
    name, size = NAMES[attribute(node, "comm_type")], attribute(node, "comm_size")
    share = size if name == "all_gather" else Fraction(size, NPUS)
    (graph,) = {need.graph for need in needs(spec, work.native) if need.collective == name}
    curves = schedules_for(name, graph).curves
    sizes = [share / curve.schedule.problem.collective.chunks_per_npu for curve in curves]
    curve, chunk = min(zip(curves, sizes, strict=True), key=lambda pair: pair[0].time_ps(pair[1]))
    return curve.schedule, int(chunk)


def sends_of(schedule: Schedule, size: int, tag: int, place: Sequence[Node]) -> list[list[Node]]:
    """Per rank the nodes that take the place of one collective."""
    graph, traces = schedule.problem.graph, [list[Node]() for _ in range(NPUS)]
    before: dict[int, int] = {}  # per link its last send
    ready: dict[int, list[int]] = {}  # per send the nodes after which its chunk is there

    def add(npu: int, node: Node) -> int:
        node["ctrl_deps"] = place[npu]["ctrl_deps"]
        node["data_deps"] = [*place[npu]["data_deps"], *node["data_deps"]]
        traces[npu].append(node)
        number: int = node["id"]
        return number

    for step in ordered_steps(schedule):
        number, link = step.send, int(schedule.link[step.send])
        source, goal = int(graph.sources[link]), int(graph.destinations[link])
        here = [] if step.written_by is None else ready[step.written_by]
        npu = goal if step.arrives else source
        new = place[npu]["id"] * _NODES_OF_ONE + len(traces[npu])
        if not step.arrives:
            after = sorted({*here, *([before[link]] if link in before else [])})
            before[link] = add(npu, send(new, goal, size, tag + number, after=after))
            continue
        came = add(npu, recv(new, source, size, tag + number))
        ready[number] = [*here, came] if schedule.reduce[number] else [came]
    return traces


def with_sends(spec: SystemSpec, work: Workload, ranks: Sequence[list[Node]]) -> Iterator[list[Node]]:
    """The traces with sends instead of collectives, of which each is of all ranks."""
    collectives = zip(*([node for node in nodes if node["type"] == COLL] for nodes in ranks), strict=True)
    instead: list[dict[int, list[Node]]] = [{} for _ in ranks]
    for index, place in enumerate(collectives):
        made = sends_of(*fastest(spec, work, place[0]), index * _NODES_OF_ONE, place)
        for rank, nodes in enumerate(made):
            instead[rank][place[rank]["id"]] = nodes
    for rank, nodes in enumerate(ranks):
        last = {number: [node["id"] for node in sends] for number, sends in instead[rank].items()}
        trace = [new for node in nodes for new in instead[rank].get(node["id"], [node])]
        for node in trace:
            for key in ("data_deps", "ctrl_deps"):
                node[key] = sorted({new for old in node[key] for new in last.get(old, [old])})
        yield trace


def in_turn(ranks: Sequence[list[Node]]) -> Sequence[list[Node]]:
    """Traces whose collectives follow each other: of two at a time, single sends would mix."""
    for nodes in ranks:
        number_of = {node["id"]: node for node in nodes}
        waits_for = {node["id"]: [*node["data_deps"], *node["ctrl_deps"]] for node in nodes}
        ordered = [number_of[number] for number in TopologicalSorter(waits_for).static_order()]
        nodes[:] = ordered
        collectives = [node for node in ordered if node["type"] == COLL]
        for before, node in itertools.pairwise(collectives):
            node["ctrl_deps"] = sorted({*node["ctrl_deps"], before["id"]})
    return ranks


@pytest.mark.parametrize(
    ("strategy", "collectives", "expected_ns"),
    [(Strategy(tp=4), 65, 45_458_609), (Strategy(sp=4), 50, 21_007_606), (Strategy(dp=4), 22, 3_553_470)],
    ids=["tp", "sp", "dp"],
)
def test_every_rank_ends_at_the_same_ns(
    spec: SystemSpec, strategy: Strategy, collectives: int, expected_ns: int
) -> None:
    generated = generate(TINY, strategy)
    groups: dict[str, list[int]] = json.loads(generated.groups_json())
    ranks = in_turn(parse(generated))
    work = workload(*ranks, groups=groups)

    made = finish(work, spec)

    assert finish(workload(*with_sends(spec, work, ranks)), spec) == made
    assert sum(node["type"] == COLL for node in ranks[0]) == collectives
    assert max(made) == expected_ns
