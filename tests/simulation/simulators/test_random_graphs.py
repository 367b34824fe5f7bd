"""Random graphs with what no generator makes: CPU operations, memory nodes, broadcasts, involve_dims."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from graph_oracle import Figures, GraphOracle, Step
from random_points import differences

from dse.inputs.systems import RemoteMemory, SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator, RankMetrics
from dse.simulation.simulators.native import native_system
from dse.testing.builders import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE_SCATTER,
    Node,
    coll,
    comp,
    load,
    workload,
)
from dse.testing.builders import system as small_system

NETWORKS = (
    *("Ring 5 @50/100", "Switch 3 @100/500", "FullyConnected 4 @93.1322574615478515625/1000"),
    *("Ring 4 @50/1.5,Switch 2 @10/500", "Switch 2 @25/250,Ring 3 @50/100,FullyConnected 2 @100/50"),
)
MEMORIES = (
    RemoteMemory("PER_NPU_MEMORY_EXPANSION", 500, 10),
    RemoteMemory("MEMORY_POOL", 500, 10),
    RemoteMemory("MEMORY_POOL", 1000, 3),
)
KINDS = ("compute", "compute", "cpu", "broadcast", "load", "store")
SEEDS = range(8)
GRAPHS_PER_SEED = 300


class Graph(NamedTuple):
    """A system and the nodes of each of its ranks."""

    system: SystemSpec
    programs: list[list[Step]]


def random_graph(rng: random.Random) -> Graph:
    """Draw a graph whose times are mostly multiples of 500 ns, so that many things happen in one tick."""
    system = small_system(
        rng.choice(NETWORKS),
        roofline_enabled=rng.random() < 0.5,
        remote_memory=rng.choice(MEMORIES),
    )
    programs: list[list[Step]] = [[] for _ in range(system.npus)]
    for rank, program in enumerate(programs):
        for _ in range(rng.randrange(1, 7)):
            program.append(_local(rng, rank))
    for _ in range(rng.randrange(2 * system.npus)):
        source, destination = rng.sample(range(system.npus), 2)
        size, tag = rng.choice([1, 5000, 50_000]), rng.choice([0, 0, 1])
        message = {"size": size, "tag": tag}
        missing = rng.choice(["send", "receive", *[""] * 30])  # mostly none
        if missing != "send":
            _insert(rng, programs[source], Step("send", peer=destination, **message))
        if missing != "receive":
            _insert(rng, programs[destination], Step("receive", peer=source, **message))
    return Graph(system, [[_waiting(rng, step, place) for place, step in enumerate(p)] for p in programs])


def _local(rng: random.Random, rank: int) -> Step:
    kind = rng.choice(KINDS)
    if kind == "compute":
        ops, size = rng.choice([(10**9, 10**8), (9 * 10**9, 10**6), (15 * 10**5, 15 * 10**5)])
        return Step(kind, micros=rng.randrange(4), ops=ops, size=size)
    if kind in ("load", "store"):
        return Step(kind, size=rng.choice([0, 1, 5000, 10_000]))
    return Step(kind, micros=rng.randrange(4), ops=10**9, size=10**6 + rank)


def _insert(rng: random.Random, program: list[Step], step: Step) -> None:
    program.insert(rng.randrange(len(program) + 1), step)


def _waiting(rng: random.Random, step: Step, place: int) -> Step:
    """The same after some of the nodes before it."""
    count = rng.choice([0, 0, 1, 1, 2, 3])
    return step._replace(after=tuple(sorted(rng.sample(range(place), min(count, place)))))


def nodes(program: list[Step]) -> list[Node]:
    return [step.node(number) for number, step in enumerate(program)]


def graphs(seed: int) -> Iterator[Graph]:
    rng = random.Random(seed)
    return (random_graph(rng) for _ in range(GRAPHS_PER_SEED))


def figures(metrics: RankMetrics | None) -> Figures | None:
    return None if metrics is None else Figures(*(getattr(metrics, name) for name in Figures._fields))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_rank_is_as_the_specification_says(seed: int) -> None:
    """Against an executor in plain Python, written from the specification."""
    for graph in graphs(seed):
        expected = GraphOracle(*graph).run()
        outcome = NativeSimulator().simulate(workload(*map(nodes, graph.programs)), graph.system)
        assert [figures(outcome.rank(rank)) for rank in range(outcome.rank_count)] == expected, graph
        assert (outcome.status == "deadlock") == (None in expected), graph


def test_the_random_graphs_have_every_kind_of_node_and_memory_and_deadlocks() -> None:
    drawn = [graph for seed in SEEDS for graph in graphs(seed)]
    kinds = Counter(step.kind for graph in drawn for program in graph.programs for step in program)
    assert set(kinds) == {*KINDS, "send", "receive"}
    assert min(kinds.values()) > 1000
    pools = Counter(graph.system.remote_memory.memory_type for graph in drawn)
    assert min(pools.values()) > 200
    stuck = [graph for graph in drawn[:200] if None in GraphOracle(*graph).run()]
    assert 10 < len(stuck) < 190


# ---- with collectives, some of them over some dimensions only ----


def random_collectives(rng: random.Random) -> tuple[SystemSpec, list[list[Node]]]:
    """Draw one program for all ranks, of all kinds of nodes; every rank issues the same collectives."""
    system = small_system(
        *rng.choice(
            [
                ("Ring 4 @50/500,Switch 2 @100/50", "ring halvingDoubling"),
                ("FullyConnected 2 @50/500,Ring 3 @100/50", "direct ring"),
                ("Switch 4 @50/500", "halvingDoubling"),
                ("Ring 2 @50/500,Ring 2 @50/500,FullyConnected 2 @50/500", "ring ring direct"),
            ]
        ),
        remote_memory=rng.choice(MEMORIES),
        preferred_dataset_splits=rng.choice([1, 2, 4]),
        active_chunks_per_dimension=rng.choice([1, 2]),
        collective_optimization=rng.choice(["baseline", "localBWAware"]),
        queues_per_dimension=rng.choice([1, 1, 2]),
        network_model=rng.choice(["congestion_unaware", "congestion_unaware", "congestion_aware"]),
    )
    program: list[Node] = []
    for number in range(rng.randrange(2, 9)):
        after = rng.sample(range(number), min(number, rng.choice([0, 1, 2])))
        kind = rng.choice(["collective", "collective", *KINDS])
        if kind == "collective":
            program.append(_collective(rng, number, len(system.network), after))
        else:
            program.append(_local(rng, 0)._replace(after=tuple(after)).node(number))
    return system, [program] * system.npus


def _collective(rng: random.Random, number: int, dimensions: int, after: list[int]) -> Node:
    dims = [rng.random() < 0.6 for _ in range(dimensions)]
    dims[rng.randrange(dimensions)] = True
    # halving-doubling has no all-to-all
    kind = rng.choice([ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST])
    size = rng.choice([4096, 65_536, 10**6])
    return coll(number, kind, size, dims=rng.choice([None, dims]), after=after, micros=rng.randrange(4))


@pytest.mark.parametrize("seed", SEEDS)
def test_both_methods_and_the_recorder_agree_on_every_figure(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        drawn = random_collectives(rng)
        native, system = workload(*drawn[1]).native, native_system(drawn[0])
        truth = _engine.simulate(native, system, _engine.Method.GENERAL)
        assert differences(_engine.simulate(native, system, _engine.Method.AUTO), truth) == [], drawn
        assert differences(_engine.record(native, system).result, truth) == [], drawn


@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_involve_dims_makes_each_line_of_the_network_a_network_of_its_own(seed: int, dimension: int) -> None:
    """All collectives over one dimension: each line along it does what it does alone."""
    rng = random.Random(100 * dimension + seed)
    texts, algorithms = ("Ring 4 @50/500", "Switch 3 @100/50"), ("ring", "direct")
    dims = [index == dimension for index in range(2)]
    for _ in range(20):
        changes = {
            "preferred_dataset_splits": rng.choice([1, 2, 5]),
            "active_chunks_per_dimension": rng.choice([1, 2]),
            "remote_memory": MEMORIES[0],
            "roofline_enabled": False,
        }
        whole = small_system(",".join(texts), " ".join(algorithms), **changes)
        alone = small_system(texts[dimension], algorithms[dimension], **changes)
        lines = [_line(rng, alone.npus) for _ in range(whole.npus // alone.npus)]
        # (line, place on it) of each rank, dimension 0 varying fastest
        places = [(rank // 4, rank % 4) if dimension == 0 else (rank % 4, rank // 4) for rank in range(12)]
        programs = [_over(lines[line][place], dims) for line, place in places]
        together = NativeSimulator().simulate(workload(*programs), whole)
        apart = [
            NativeSimulator().simulate(workload(*(_over(p, [True]) for p in line)), alone) for line in lines
        ]
        assert {outcome.status for outcome in apart} == {"ok"}
        for rank, (line, place) in enumerate(places):
            assert together.rank(rank) == apart[line].rank(place), (changes, lines)


def _line(rng: random.Random, npus: int) -> list[list[Node]]:
    """Programs of ranks that issue the same collectives one after another, between other work of each."""
    kinds = [rng.choice([ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL]) for _ in range(3)]
    sizes = [rng.choice([1200, 36_000, 10**6]) for _ in kinds]
    return [
        [
            *(comp(number, micros=rng.randrange(9), cpu=rng.random() < 0.3) for number in range(3)),
            load(3, 5000),
            *(
                coll(number, kind, size, after=[rng.randrange(4), *([number - 1] if number > 4 else [])])
                for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True), 4)
            ),
        ]
        for _ in range(npus)
    ]


def _over(program: list[Node], dims: list[bool]) -> list[Node]:
    """The same program, its collectives over these dimensions."""
    flags = coll(0, ALL_REDUCE, 1, dims=dims)["attributes"]["involve_dims"]
    return [
        {**node, "attributes": {**node["attributes"], "involve_dims": flags}}
        if "comm_type" in node["attributes"]
        else node
        for node in program
    ]
