"""Schedules as Chakra traces: what they wait for, and that they take the time of the schedule."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from link_graphs import grid, problems, random_graph, star
from ring_schedules import ring_all_gather, ring_all_reduce, ring_all_to_all, ring_reduce_scatter

from dse.base.errors import InputError
from dse.collectives import Collective, LinkModel, Problem, Schedule
from dse.collectives.files.chakra import chakra_traces
from dse.collectives.files.chakra_run import ChakraRun, chakra_time_ns, run_chakra
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.settings import effort_of, synthesizer_of
from dse.collectives.search.synthesis import synthesize
from dse.inputs.networks import LinkGraph
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import workload_of
from dse.testing.builders import SEND, Node, comp, encode, recv, send

MIB = 1 << 20
SCHEDULES = {
    "all_gather": ring_all_gather(5, 2),
    "reduce_scatter": ring_reduce_scatter(4, 2),
    "all_reduce": ring_all_reduce(4),
    "relayed": ring_all_to_all(4),
}
Occupancy = Literal["total", "bandwidth"]


def fully_connected(npus: int, latency_ns: int = 500, gbps: int = 50) -> LinkGraph:
    pairs = itertools.permutations(range(npus), 2)
    return LinkGraph.of(npus, npus, [(*pair, latency_ns, gbps) for pair in pairs])


def made(problem: Problem, **values: str) -> Schedule:
    return synthesize(problem, synthesizer_of(values), effort_of({"trials": "3", **values})).schedule


def nodes_of(schedule: Schedule) -> list[list[dict[str, Any]]]:
    traces = chakra_traces(schedule)
    return [_engine.parse_trace(trace, f"rank {rank}").nodes() for rank, trace in enumerate(traces)]


def after(nodes: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What each node waits for, all by their names."""
    names = {node["id"]: node["name"] for node in nodes}
    return {node["name"]: [names[number] for number in node["data_deps"]] for node in nodes}


@pytest.mark.parametrize("chunks", [1, 4])
@pytest.mark.parametrize("occupancy", ["total", "bandwidth"])
@pytest.mark.parametrize("collective", ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"])
@pytest.mark.parametrize(
    "graph",
    [grid(8, wraps=True), grid(5, wraps=True), fully_connected(8), fully_connected(4)],
    ids=["Ring 8", "Ring 5", "FullyConnected 8", "FullyConnected 4"],
)
def test_the_traces_take_the_time_of_the_schedule_to_the_ns(
    graph: LinkGraph, collective: str, occupancy: Occupancy, chunks: int
) -> None:
    model = LinkModel("gib", occupancy, "ns")
    problem = Problem(graph, Collective(collective, graph.npus, chunks), Fraction(MIB, chunks), model)
    schedule = made(problem)
    assert chakra_time_ns(problem, list(chakra_traces(schedule))) * 1000 == schedule.time_ps


def test_that_time_is_the_one_of_a_ring_by_hand() -> None:
    """7 steps of 500 ns and 1 MiB at 50 · 2^30 bytes per second: 19531 ns."""
    problem = Problem(
        grid(8, wraps=True), Collective("all_gather", 8, 1), Fraction(MIB), LinkModel("gib", clock="ns")
    )
    one_way = [(i, (i + 1) % 8) for i in range(8)]
    number = problem.graph.number_of
    sends = [(number[one_way[i]], (i - step) % 8, step) for step in range(7) for i in range(8)]
    link, chunk, step = np.array(sends).T
    schedule = Schedule.of(problem, link.astype(np.int32), chunk.astype(np.int32), step * 20_031_000)
    assert chakra_time_ns(problem, list(chakra_traces(schedule))) == 7 * 20_031


def test_the_engine_runs_traces_as_the_custom_collectives_of_astrasim() -> None:
    """The ring all-reduce of ASTRA-sim's example takes 90174 ns there: 14 sends of 2941, 7 sums of 7000."""
    traces = []
    for rank in range(8):
        nodes: list[Node] = []
        latest: list[int] = []
        for step in range(14):
            first = len(nodes)
            nodes.append(send(first, to=(rank + 1) % 8, size=131_072, after=latest))
            nodes.append(recv(first + 1, source=(rank - 1) % 8, size=131_072, after=[first]))
            latest = [first + 1]
            if step < 7:
                nodes.append(comp(first + 2, micros=7, after=latest))
                latest = [first + 2]
        traces.append(encode(nodes))
    problem = Problem(
        grid(8, wraps=True), Collective("all_reduce", 8, 1), Fraction(131_072), LinkModel(gb="gib")
    )
    assert chakra_time_ns(problem, traces) == 90_174


def test_what_is_free_runs_at_once_whatever_else_a_rank_sends() -> None:
    """As a workload, a rank has one message under way at a time; here its two links are used together."""
    graph = fully_connected(3, latency_ns=1000, gbps=1)
    problem = Problem(graph, Collective("all_to_all", 3, 1), Fraction(1000), LinkModel())
    ways = [(0, 1), (0, 2)]
    traces = [
        encode([send(i, to=to, size=1000) for i, (_, to) in enumerate(ways)]),
        *(encode([recv(0, source=0, size=1000)]) for _ in range(2)),
    ]
    assert chakra_time_ns(problem, traces) == 2000


def test_a_send_waits_for_what_it_carries_and_never_for_a_send() -> None:
    model = LinkModel(occupancy="bandwidth")
    (nodes, *_) = nodes_of(ring_all_gather(3, 2, model))
    assert after(nodes) == {
        "send 0: chunk 0": [],
        "send 3: chunk 3": [],
        "receive 2: chunk 2": [],
        "send 6: chunk 2": ["receive 2: chunk 2"],
        "receive 5: chunk 5": [],
        "send 9: chunk 5": ["receive 5: chunk 5"],
        "receive 8: chunk 1": [],
        "receive 11: chunk 4": [],
    }


def test_a_link_that_is_held_until_arrival_lets_a_send_wait_for_the_one_before() -> None:
    (nodes, *_) = nodes_of(ring_all_gather(3, 2))
    waits = after(nodes)
    assert waits["send 3: chunk 3"] == ["send 0: chunk 0"]
    assert waits["send 6: chunk 2"] == ["receive 2: chunk 2", "send 3: chunk 3"]


def test_a_sum_is_sent_when_all_that_it_adds_has_come_without_a_node_that_takes_time() -> None:
    """Two NPUs send to the third, which returns the sum to both."""
    graph = fully_connected(3, latency_ns=0, gbps=1)
    problem = Problem(graph, Collective("all_reduce", 3, 1), Fraction(1000), LinkModel(occupancy="bandwidth"))
    number = problem.graph.number_of
    chunks, ways = [], []
    for chunk, (a, b) in enumerate([(1, 2), (0, 2), (0, 1)]):
        ways += [(a, chunk, 0), (b, chunk, 0), (chunk, a, 1), (chunk, b, 1)]
        chunks += [chunk] * 4
    link = np.array([number[a, b] for a, b, _ in ways], dtype=np.int32)
    start = np.array([late for *_, late in ways]) * 1_000_000
    schedule = Schedule.of(problem, link, np.array(chunks, dtype=np.int32), start, start == 0)
    for nodes in nodes_of(schedule):
        waits = {name: names for name, names in after(nodes).items() if name.startswith("send")}
        assert sorted(map(len, waits.values())) == [0, 0, 2, 2]
        assert not any("add" in name for name in waits)
    assert chakra_time_ns(problem, list(chakra_traces(schedule))) == 2000


def test_sums_of_more_than_64_messages_are_joined_by_a_node_of_1_ns() -> None:
    model = LinkModel("gib", "bandwidth", "ns")
    for npus, more_ns in ((65, 0), (66, 1)):
        problem = Problem(fully_connected(npus), Collective("all_reduce", npus, 1), Fraction(1000), model)
        schedule = fixed_algorithms(problem).schedules["direct"]
        most = max(len(node["data_deps"]) for nodes in nodes_of(schedule) for node in nodes)
        run = run_chakra(schedule, list(chakra_traces(schedule)))
        assert run.time_ns is not None
        assert (most, run.time_ns * 1000 - schedule.time_ps) == (64 + more_ns, 1000 * more_ns)


@given(
    problems(st.integers(0, 10**6).map(random_graph)),
    st.sampled_from(["", "reduce_scatter", "all_reduce", "reduce"]),
)
def test_on_any_links_the_traces_take_at_most_the_time_of_the_schedule(problem: Problem, sums: str) -> None:
    if sums:
        problem = replace(problem, collective=Collective(sums, problem.graph.npus, 2))
    schedule = made(problem, synthesizer="greedy", trials="1")
    run = run_chakra(schedule, list(chakra_traces(schedule)))
    if run.time_ns is None:
        bytes_only = replace(problem, model=LinkModel(occupancy="bandwidth"))
        assert bytes_only.held_ps.min() < 1000  # a link is free again within the first ns
        assert run.why_not.startswith("an event falls on time 0, where the reference stops")
    else:
        assert run.time_ns * 1000 <= max(schedule.time_ps, 1000)  # an NPU that has nothing to do takes 1 ns


@pytest.mark.parametrize("occupancy", ["total", "bandwidth"])
def test_sends_over_a_link_keep_the_order_of_the_schedule(occupancy: Occupancy) -> None:
    """A relayed chunk is scheduled before an own one, which is there earlier and would overtake it."""
    graph = LinkGraph.of(3, 3, [(0, 1, 100, 1), (1, 2, 5000, 1), (2, 0, 0, 1)])
    wants = ((2, 0), (2, 1))
    collective = Collective("custom", 3, preconditions=((0, 0), (1, 1)), postconditions=wants)
    problem = Problem(graph, collective, Fraction(1000), LinkModel(occupancy=occupancy))
    first = 1_100_000  # the relayed chunk has come
    second = first + (6_000_000 if occupancy == "total" else 1_000_000)
    schedule = Schedule.of(
        problem,
        np.array([0, 1, 1], dtype=np.int32),
        np.array([0, 0, 1], dtype=np.int32),
        np.array([0, first, second]),
    )
    sends = [node for node in nodes_of(schedule)[1] if node["type"] == SEND]
    assert [node["name"] for node in sends] == ["send 1: chunk 0", "send 2: chunk 1"]
    assert all(node["data_deps"] for node in sends)
    assert chakra_time_ns(problem, list(chakra_traces(schedule))) * 1000 == schedule.time_ps


def test_networks_with_switches_are_refused() -> None:
    problem = Problem(star(3), Collective("all_gather", 3, 1), Fraction(1000), LinkModel())
    with pytest.raises(InputError, match="Chakra traces know no switches, but the network has 1"):
        list(chakra_traces(made(problem)))


@pytest.mark.parametrize(
    ("run", "data", "text"),
    [
        (ChakraRun(2_000_000, 2000), {"chakra_time_ns": 2000}, "2 µs (2000 ns), as the schedule"),
        (
            ChakraRun(2_000_500, 2000),
            {"chakra_time_ns": 2000},
            "2 µs (2000 ns), 0.5 ns less than the schedule (0.99975 times)",
        ),
        (
            ChakraRun(2_000_000, 2500),
            {"chakra_time_ns": 2500},
            "2.5 µs (2500 ns), 500 ns more than the schedule (1.25 times)",
        ),
        (
            ChakraRun(2_000_000, None, "too large"),
            {"chakra_time_ns": None, "chakra_not_run": "too large"},
            "not run: too large",
        ),
    ],
)
def test_the_summary_says_how_far_the_traces_are_from_the_schedule(
    run: ChakraRun, data: dict[str, Any], text: str
) -> None:
    assert run.data() == data
    assert run.row() == ("as Chakra", text)


def system(npus: int) -> SystemSpec:
    one_ring = ("ring",)
    return SystemSpec(
        "ring",
        (Dimension("Ring", npus, 1.0, 0.0),),
        CollectiveAlgorithms(one_ring, one_ring, one_ring, one_ring),
        peak_tflops=1.0,
        memory_bandwidth_gbps=1.0,
        network_model="congestion_aware",
        endpoint_delay_ns=0,
        track_local_memory=False,
    )


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
def test_the_traces_run_to_the_end_as_a_workload_too(schedule: Schedule) -> None:
    traces = list(chakra_traces(schedule))
    outcome = NativeSimulator().simulate(workload_of(traces), system(schedule.problem.graph.npus))
    assert outcome.status == "ok", outcome.reason
    counts = [workload_of(traces).counts(rank) for rank in range(len(traces))]
    assert sum(count.send for count in counts) == sum(count.recv for count in counts) == len(schedule)
