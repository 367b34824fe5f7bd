"""Random traffic on random congestion-aware networks, against a plain oracle; unloaded messages."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, Step
from shapes import AWARE, UNAWARE, Message, arrivals, fabric, steps, system

from dse.inputs.systems import Dimension, SystemSpec
from dse.inputs.systems.graph import HEADER
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import Workload
from dse.testing.builders import ALL_REDUCE, coll, finish, workload

SHAPES = (
    *("Ring 2", "Ring 3", "Ring 4", "Ring 6", "FullyConnected 2", "FullyConnected 4", "Switch 2", "Switch 5"),
    *("Mesh2D 4x4", "Mesh2D 3x2", "Mesh2D 1x3", "Torus2D 4x3", "Torus2D 2x2", "Torus3D 2x3x2"),
    *("Hypercube 2", "Hypercube 8", "FatTree 2x3x2", "FatTree 2x4x3 ecmp", "Dragonfly 1x2x3"),
    *("Dragonfly 2x2x2", "Graph"),
)
MOST_NPUS = 48
Links = dict[tuple[int, int], tuple[float, float]]


@dataclass(frozen=True)
class Network:
    """Texts of dimensions; a Graph's is "Graph <NPUs> @…", and its links are in `graphs`, in that order."""

    dimensions: tuple[str, ...]
    graphs: tuple[tuple[int, Links], ...] = ()

    @contextmanager
    def system(self, model: str = AWARE) -> Iterator[SystemSpec]:
        """Give the system, its graphs written to files as long as the context lasts."""
        with tempfile.TemporaryDirectory() as folder:
            graphs, texts = iter(self.graphs), []
            for number, text in enumerate(self.dimensions):
                if text.startswith("Graph"):
                    path = Path(folder) / f"{number}.csv"
                    path.write_text(csv_text(*next(graphs)))
                    texts.append(f"{text.partition('@')[0]} {path}")
                else:
                    texts.append(text)
            # compute nodes take the time that their traces say: multiples of 1000 ns, as many messages here
            yield system(",".join(texts), model=model, roofline_enabled=False)


def csv_text(devices: int, links: Links) -> str:
    lines = [f"{start},{end},{latency},{speed}" for (start, end), (latency, speed) in links.items()]
    return "\n".join([str(devices), ",".join(HEADER), *lines]) + "\n"


SPEEDS = st.tuples(st.sampled_from([0.0, 1.0, 500.0, 0.5, 333.3]), st.sampled_from([1.0, 50.0, 0.75, 33.3]))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[str, tuple[int, Links]]:
    """A ring one way through all devices in any order, so that there is a way, and links at random."""
    npus = draw(st.integers(2, 6))
    devices = npus + draw(st.integers(0, 3))
    order = draw(st.permutations(range(devices)))
    ends = set(zip(order, [*order[1:], order[0]], strict=True))
    ends |= draw(st.sets(st.sampled_from(list(itertools.permutations(range(devices), 2))), max_size=12))
    return f"Graph {npus}", (devices, {link: draw(SPEEDS) for link in sorted(ends)})


@st.composite
def networks(draw: st.DrawFn) -> Network:
    dimensions: list[str] = []
    files: list[tuple[int, Links]] = []
    for shape in draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3)):
        if shape == "Graph":
            text, graph = draw(graphs())
        else:
            latency, speed = draw(SPEEDS)
            text = f"{shape} @{speed}/{latency}"
        if _npus([*dimensions, text]) > MOST_NPUS:
            continue
        dimensions.append(text)
        if shape == "Graph":
            files.append(graph)
    return Network(tuple(dimensions), tuple(files))


def _npus(texts: list[str]) -> int:
    return math.prod(system(f"{text.split(' @')[0]} x" if "Graph" in text else text).npus for text in texts)


@st.composite
def programs(draw: st.DrawFn, npus: int) -> list[list[Step]]:
    """Messages one after the other in a global order, each free to wait for what its ranks did before.

    So the nodes can always finish in that order, whatever the network does, if every message has its own tag.
    With few tags, receives of equal messages may be posted in another order, which may deadlock. Nothing is
    sent at time 0, where an event, such as the release of a link after less than 1 ns, is an error as in the
    reference.
    """
    ranks: list[list[Step]] = [[Step("compute", micros=draw(st.integers(1, 3)))] for _ in range(npus)]
    hot = draw(st.none() | st.integers(0, npus - 1))  # one destination that many messages have

    def after(rank: int, least: tuple[int, ...]) -> tuple[int, ...]:
        nodes = tuple(range(len(ranks[rank])))
        return draw(st.sampled_from([least, least, nodes[-1:], nodes]))

    sizes = st.sampled_from([1, 50, 999, 1000, 25_000, 50_000])
    tags = draw(st.sampled_from([1, 2, 1000]))
    for number in range(draw(st.integers(1, 40))):
        source = draw(st.integers(0, npus - 1))
        destination = draw(st.integers(0, npus - 1)) if hot is None or draw(st.booleans()) else hot
        if source == destination:
            continue
        size, tag = draw(sizes), number % tags
        ranks[source].append(Step("send", after(source, (0,)), destination, size, tag))
        ranks[destination].append(Step("receive", after(destination, ()), source, size, tag))
    return ranks


def traffic(ranks: list[list[Step]]) -> Workload:
    return workload(*[[step.node(number) for number, step in enumerate(program)] for program in ranks])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Network, list[list[Step]]]:
    network = draw(networks())
    return network, draw(programs(_npus(list(network.dimensions))))


@settings(max_examples=150, deadline=None)
@given(cases())
def test_random_traffic_is_that_of_the_oracle_and_conserves_bytes_links_and_time(
    case: tuple[Network, list[list[Step]]],
) -> None:
    network, ranks = case
    with network.system() as on:
        outcome = NativeSimulator().simulate(traffic(ranks), on)
        oracle = Oracle(fabric(on), ranks)
    oracle.run()

    # every rank finishes when the oracle says, and matched traffic never deadlocks: every receive completes
    figures = [outcome.rank(rank) for rank in range(on.npus)]
    assert [rank and rank.finish_ns for rank in figures] == [rank.finish_ns for rank in oracle.ranks]
    # as many arrivals, hops, releases of links, late receives and ends of computation
    assert outcome.events == oracle.events

    sent = [step for program in ranks for step in program if step.kind == "send"]
    if len({step.tag for step in sent}) == len(sent):
        assert outcome.status == "ok", outcome.reason
    # every byte that is sent arrives once
    if outcome.status == "ok":
        assert sum(oracle.delivered.values()) == sum(step.size for step in sent)
        assert len(oracle.durations) == len(sent)
    # no link carries two messages at a time
    for link in oracle.links.values():
        assert all(first[1] <= second[0] for first, second in itertools.pairwise(link.intervals))
    # nothing is faster than on an empty network
    for source, destination, size, duration in oracle.durations:
        assert duration >= unloaded_ns(oracle, source, destination, size)


def unloaded_ns(oracle: Oracle, source: int, destination: int, size: int) -> int:
    """Return the time on an empty network: each link forwards the whole message."""
    route = [oracle.links[link] for link in steps(oracle.fabric.route(source, destination))]
    return sum(int(link.latency_ns + size / link.bytes_per_ns) for link in route)


@st.composite
def single_messages(draw: st.DrawFn) -> tuple[Network, Message]:
    network = draw(networks())
    npus = _npus(list(network.dimensions))
    source, destination = draw(st.permutations(range(npus)))[:2]
    return network, Message(source, destination, draw(st.integers(100, 10**9)))


@settings(max_examples=100, deadline=None)
@given(single_messages())
def test_an_unloaded_message_takes_the_sum_of_its_links(case: tuple[Network, Message]) -> None:
    """An empty network: the sum over the links of floor(latency + size / bandwidth).

    The congestion-unaware model takes floor(hops x latency + size / bandwidth): it serialises a message once,
    as if every switch forwarded the first byte at once, and charges only the lowest dimension in which the
    addresses differ. So the two are equal for routes of one link, and only the sum holds for longer ones:
    a store-and-forward network cannot have the unaware time there.
    """
    network, message = case
    with network.system() as on:
        of = fabric(on)
        aware = arrivals(on, message)[0]
    with network.system(UNAWARE) as on:
        unaware = arrivals(on, message)[0]
        dimensions = on.network
    route = steps(of.route(message.source, message.destination))
    speed_of = {link[:2]: link[2:] for link in of.links}
    speeds = [speed_of[link] for link in route]
    assert aware == sum(int(latency + message.size / speed) for latency, speed in speeds)
    if len(route) == 1:
        assert unaware == aware
    if len(dimensions) == 1:
        assert unaware == unaware_ns(dimensions[0], speeds, message.size)
        assert unaware <= aware + len(route)  # each link cuts a fraction of a ns


def unaware_ns(dimension: Dimension, speeds: list[tuple[float, float]], size: int) -> int:
    if dimension.topology == "Graph":
        return int(sum(latency for latency, _ in speeds) + size / min(speed for _, speed in speeds))
    latency, speed = speeds[0]
    return int(len(speeds) * latency + size / speed)


@pytest.mark.parametrize("network", ["Ring 8", "FullyConnected 8"])
def test_a_ring_collective_on_links_of_its_own_takes_the_unaware_time(network: str) -> None:
    """Section 10.3: equal starts and one chunk at a time leave no link with a queue."""
    work = workload(*[[coll(1, ALL_REDUCE, 80_000)]] * 8)
    on = system(network)
    assert (
        finish(work, on)
        == finish(work, replace(on, network_model=UNAWARE))
        == [10 + 14 * (700 + 10) + 7 * 9] * 8
    )
