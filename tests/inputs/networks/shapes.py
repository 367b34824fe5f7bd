"""Networks for the tests, from short texts; their links and routes; messages through the simulator."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.simulation.simulators.native import native_system
from dse.testing.builders import Node, comp, finish, recv, send, workload

BYTE_PER_NS = 10**9 / 2**30  # in the GB/s of a network; exact in binary, and so are its small multiples
AWARE, UNAWARE = "congestion_aware", "congestion_unaware"
MODELS = (AWARE, UNAWARE)
Link = tuple[int, int]


class Message(NamedTuple):
    source: int
    destination: int
    size: int


def dimension(text: str) -> Dimension:
    """Return what a text describes: topology, NPUs or shape, options, and speed in bytes per ns / ns.

    Examples: "Ring 4 @50/500", "Mesh2D 4x2", "FatTree 2x4x2 ecmp", "Graph 16 links.csv"; the speed is
    50 bytes per ns and 500 ns a hop by default, so that 1000 bytes take 520 ns.
    """
    words, _, speed = text.partition("@")
    topology, sizes, *options = words.split()
    numbers = tuple(int(size) for size in sizes.split("x"))
    bytes_per_ns, latency_ns = (float(number) for number in (speed or "50/500").split("/"))
    return Dimension(
        topology,
        math.prod(numbers[:2] if topology == "FatTree" else numbers),
        bytes_per_ns * BYTE_PER_NS,
        latency_ns,
        shape=numbers if len(numbers) > 1 else (),
        routing=options[0] if topology == "FatTree" and options else "",
        file=options[0] if topology == "Graph" else None,
    )


def system(network: str, algorithms: str = "", *, model: str = AWARE, **changes: object) -> SystemSpec:
    """Return a system of dimensions separated by commas; a collective is one chunk, memory is not tracked."""
    dimensions = tuple(dimension(text) for text in network.split(","))
    names = tuple(algorithms.split()) or ("ring",) * len(dimensions)
    settings: dict[str, object] = {
        "active_chunks_per_dimension": 1,
        "preferred_dataset_splits": 1,
        "track_local_memory": False,
        "peak_tflops": 900,
        "memory_bandwidth_gbps": 3000,
    }
    return SystemSpec(
        name="test",
        network=dimensions,
        network_model=model,
        collectives=CollectiveAlgorithms(names, names, names, names),
        **(settings | changes),  # type: ignore[arg-type]
    )


def fabric(network: str | SystemSpec) -> _engine.Fabric:
    spec = system(network) if isinstance(network, str) else network
    return _engine.Fabric(native_system(spec))


def arrivals(on: SystemSpec, *messages: Message) -> list[int]:
    """Send all messages at time 0, each from and to NPUs of its own; return when each arrives.

    A sender's node ends when its message arrives, and so does the receiver's.
    """
    traces: list[list[Node]] = [[comp(1, ops=1, size=3000)] for _ in range(on.npus)]
    ends = [npu for message in messages for npu in message[:2]]
    assert len(ends) == len(set(ends)), "an NPU takes part in one message"
    for source, destination, size in messages:
        traces[source] = [send(1, to=destination, size=size)]
        traces[destination] = [recv(1, source=source, size=size)]
    times = finish(workload(*traces), on)
    assert all(times[message.source] == times[message.destination] for message in messages)
    return [times[message.destination] for message in messages]


def links(of: _engine.Fabric) -> set[Link]:
    found = [link[:2] for link in of.links]
    assert len(set(found)) == len(found), "a link occurs twice"
    return set(found)


def pairs(of: _engine.Fabric) -> Iterable[Link]:
    return itertools.permutations(range(of.npus), 2)


def distances(of: _engine.Fabric, source: int) -> dict[int, int]:
    """Return the least number of links from a device to every device."""
    after: dict[int, list[int]] = {}
    for start, end in links(of):
        after.setdefault(start, []).append(end)
    found, queue = {source: 0}, deque([source])
    while queue:
        device = queue.popleft()
        for other in after.get(device, []):
            if other not in found:
                found[other] = found[device] + 1
                queue.append(other)
    return found


def diameter(of: _engine.Fabric) -> int:
    """Return the links of the longest route between two NPUs."""
    return max(len(of.route(a, b)) - 1 for a, b in pairs(of))


def degrees(of: _engine.Fabric) -> list[int]:
    """Return how many links leave each device, after checking that as many arrive."""
    leaving, arriving = [0] * of.devices, [0] * of.devices
    for start, end in links(of):
        leaving[start] += 1
        arriving[end] += 1
    assert leaving == arriving
    return leaving


def bisection(of: _engine.Fabric) -> int:
    """Return the least number of links from one half of the NPUs to the other, wherever switches are put."""
    switches = range(of.npus, of.devices)
    existing = links(of)
    least = len(existing)
    for half in itertools.combinations(range(1, of.npus), of.npus // 2 - 1):
        for number in range(len(switches) + 1):
            for chosen in itertools.combinations(switches, number):
                side = {0, *half, *chosen}
                least = min(least, sum(start in side and end not in side for start, end in existing))
    return least


def has_circular_waits(of: _engine.Fabric) -> bool:
    """Return whether links can wait for each other in a circle: a cycle in the channel dependency graph.

    A link depends on another if some route uses the other one right after it (Dally and Seitz, 1987).
    """
    waits: dict[Link, set[Link]] = {link: set() for link in links(of)}
    for source, destination in pairs(of):
        route = steps(of.route(source, destination))
        for link, following in itertools.pairwise(route):
            waits[link].add(following)
    while free := [link for link, others in waits.items() if not others]:
        for link in free:
            del waits[link]
        for others in waits.values():
            others.difference_update(free)
    return bool(waits)


def steps(route: Sequence[int]) -> list[Link]:
    return list(itertools.pairwise(route))
