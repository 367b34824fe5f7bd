"""Every topology: its links, degrees, diameter, bisection and routes; times of messages in both models.

A message of 1000 bytes takes 500 + 1000 / 50 = 520 ns a link. In the congestion-aware model it is stored and
forwarded whole, so h links take h x 520 ns; in the congestion-unaware model h x 500 + 20 ns.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from typing import NamedTuple

import pytest
from shapes import (
    AWARE,
    UNAWARE,
    Message,
    arrivals,
    bisection,
    degrees,
    diameter,
    distances,
    fabric,
    has_circular_waits,
    links,
    pairs,
    steps,
    system,
)

from dse.base.errors import InputError
from dse.testing.builders import ALL_TO_ALL, coll, finish, recv, run, send, workload
from dse.testing.builders import system as reference_system


class Expected(NamedTuple):
    """Numbers of devices and directed links; how many devices have how many outgoing links."""

    devices: int
    links: int
    degrees: dict[int, int]
    diameter: int


# fmt: off
EXPECTED = {
    "Ring 2": Expected(2, 2, {1: 2}, 1),
    "Ring 3": Expected(3, 6, {2: 3}, 1),
    "Ring 7": Expected(7, 14, {2: 7}, 3),
    "Ring 8": Expected(8, 16, {2: 8}, 4),
    "FullyConnected 2": Expected(2, 2, {1: 2}, 1),
    "FullyConnected 6": Expected(6, 30, {5: 6}, 1),
    "Switch 2": Expected(3, 4, {1: 2, 2: 1}, 2),
    "Switch 6": Expected(7, 12, {1: 6, 6: 1}, 2),
    "Mesh2D 4x4": Expected(16, 48, {2: 4, 3: 8, 4: 4}, 6),
    "Mesh2D 3x5": Expected(15, 44, {2: 4, 3: 8, 4: 3}, 6),
    "Mesh2D 1x4": Expected(4, 6, {1: 2, 2: 2}, 3),
    "Torus2D 4x4": Expected(16, 64, {4: 16}, 4),
    "Torus2D 3x5": Expected(15, 60, {4: 15}, 3),
    "Torus2D 2x4": Expected(8, 24, {3: 8}, 3),  # between two neighbours there is one link each way
    "Torus3D 3x3x4": Expected(36, 216, {6: 36}, 4),
    "Torus3D 2x2x4": Expected(16, 64, {4: 16}, 4),
    "Hypercube 2": Expected(2, 2, {1: 2}, 1),
    "Hypercube 16": Expected(16, 64, {4: 16}, 4),
    # NPUs have 1 link, leaves NPUs + spines, spines one to each leaf
    "FatTree 2x4x2": Expected(14, 32, {1: 8, 4: 6}, 4),
    "FatTree 2x4x3 ecmp": Expected(15, 40, {1: 8, 5: 4, 4: 3}, 4),
    "FatTree 4x1x1": Expected(6, 10, {1: 5, 5: 1}, 2),
    # routers have their NPUs, the others of the group, and the links to other groups that fall to them
    "Dragonfly 1x3x4": Expected(24, 60, {1: 12, 4: 12}, 5),
    "Dragonfly 2x2x3": Expected(18, 36, {1: 12, 4: 6}, 5),
    "Dragonfly 2x2x2": Expected(12, 22, {1: 8, 3: 2, 4: 2}, 5),
    "Dragonfly 2x4x1": Expected(12, 28, {1: 8, 5: 4}, 3),
}
# fmt: on
# Links may wait for each other in a circle: rings of four or more, and dragonflies of three groups or more.
CIRCULAR = {
    *("Ring 7", "Ring 8", "Torus2D 4x4", "Torus2D 3x5", "Torus2D 2x4", "Torus3D 3x3x4", "Torus3D 2x2x4"),
    *("Dragonfly 1x3x4", "Dragonfly 2x2x3"),
}
SHORTEST = [name for name in EXPECTED if not name.startswith("Dragonfly")]


@pytest.mark.parametrize("network", EXPECTED)
def test_devices_links_degrees_and_diameter(network: str) -> None:
    of = fabric(network)
    expected = EXPECTED[network]
    assert of.npus == system(network).npus
    assert (of.devices, len(links(of))) == (expected.devices, expected.links)
    assert Counter(degrees(of)) == expected.degrees
    assert diameter(of) == expected.diameter
    assert {link[2:] for link in of.links} == {(500.0, 50.0)}


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("Ring 8", 2),
        ("FullyConnected 6", 9),
        ("Switch 6", 3),
        ("Mesh2D 4x4", 4),
        ("Mesh2D 2x5", 3),
        ("Torus2D 4x4", 8),
        ("Torus2D 2x4", 4),
        ("Torus3D 2x2x4", 8),
        ("Hypercube 16", 8),
        ("FatTree 2x4x2", 4),
        ("FatTree 2x4x1", 2),
        ("Dragonfly 2x2x2", 1),
        ("FullyConnected 4,Switch 2", 4),
        ("Ring 4,Ring 4", 8),
    ],
)
def test_links_between_two_halves(network: str, expected: int) -> None:
    """The bisection: the least number of links from one half of the NPUs to the other."""
    assert bisection(fabric(network)) == expected


@pytest.mark.parametrize("network", EXPECTED)
def test_routes_follow_links_and_pass_no_device_twice(network: str) -> None:
    of = fabric(network)
    existing = links(of)
    for source, destination in pairs(of):
        route = of.route(source, destination)
        assert (route[0], route[-1]) == (source, destination)
        assert existing.issuperset(steps(route))
        assert len(set(route)) == len(route)


@pytest.mark.parametrize("network", SHORTEST)
def test_routes_are_shortest(network: str) -> None:
    of = fabric(network)
    for source in range(of.npus):
        least = distances(of, source)
        for destination in set(range(of.npus)) - {source}:
            assert len(of.route(source, destination)) - 1 == least[destination]


@pytest.mark.parametrize("network", EXPECTED)
def test_which_routes_cannot_wait_in_a_circle(network: str) -> None:
    """Meshes (XY), hypercubes, fat trees (up, then down), switches and full connection: no circle at all.

    Routes on rings and tori do close a circle of links, and so do those of a dragonfly with three groups.
    Hardware needs virtual channels for these. Here they cannot deadlock either: a link forwards a message
    that it has wholly, into a queue without a bound, so nothing that is held waits (see
    test_links_of_a_ring_are_all_busy_at_once_and_everything_arrives).
    """
    assert has_circular_waits(fabric(network)) == (network in CIRCULAR)


@pytest.mark.parametrize("network", ["Ring 8", "Torus2D 4x4", "Torus3D 2x2x4", "Dragonfly 1x3x4"])
@pytest.mark.parametrize("distance", [1, 2, 3])
def test_links_of_a_ring_are_all_busy_at_once_and_everything_arrives(network: str, distance: int) -> None:
    """Every NPU sends at time 0 to the one `distance` further, so that every circle of links is filled."""
    on = system(network)
    npus = range(on.npus)
    traces = [
        [
            send(1, to=(npu + distance) % on.npus, size=10**6),
            recv(2, source=(npu - distance) % on.npus, size=10**6),
        ]
        for npu in npus
    ]
    assert len(run(workload(*traces), on)) == on.npus


# Routes, literally

ROUTES = {
    "Ring 6": [[0, 1, 2], [0, 1, 2, 3], [0, 5, 4], [4, 5, 0, 1]],  # a tie goes up
    "FullyConnected 6": [[0, 5], [5, 0]],
    "Switch 6": [[0, 6, 5], [5, 6, 0]],
    # y  12 13 14 15
    # ^   8  9 10 11
    # |   4  5  6  7
    #     0  1  2  3  -> x
    "Mesh2D 4x4": [[1, 2, 3, 7], [14, 13, 9, 5], [0, 1, 2, 3, 7, 11, 15], [15, 14, 13, 12, 8, 4, 0]],
    "Mesh2D 3x2": [[0, 1, 2, 5], [5, 4, 3, 0]],
    "Torus2D 4x4": [[0, 3], [0, 12], [0, 1, 2, 6, 10], [1, 0, 12], [15, 12, 0]],
    "Torus2D 2x3": [[0, 1, 5], [5, 4, 0]],
    "Torus3D 3x3x3": [[0, 1, 4, 13], [0, 2, 8, 26], [26, 24, 18, 0]],
    "Hypercube 8": [[0, 1, 3, 7], [5, 4, 6, 2], [6, 7]],  # the lowest bit first
    # leaves 8 … 11 with the NPUs 2 i and 2 i + 1, spines 12 and 13: spine = destination modulo spines
    "FatTree 2x4x2": [[0, 8, 1], [0, 8, 12, 9, 2], [0, 8, 13, 9, 3], [7, 11, 12, 8, 0]],
    # routers 8 … 11; group 0 has 8 and 9, group 1 has 10 and 11; the link between groups joins 8 and 10
    "Dragonfly 2x2x2": [[0, 8, 1], [0, 8, 9, 2], [0, 8, 10, 4], [3, 9, 8, 10, 11, 7]],
    # groups of three routers, 12 + 3 g …: group 0's links to groups 1, 2, 3 start at routers 12, 13, 14
    "Dragonfly 1x3x4": [[0, 12, 17, 5], [1, 13, 12, 17, 15, 3], [2, 14, 21, 9], [9, 21, 14, 2]],
}


@pytest.mark.parametrize(
    ("network", "route"), [(name, route) for name, routes in ROUTES.items() for route in routes]
)
def test_routes_as_drawn_and_the_times_of_a_message(network: str, route: list[int]) -> None:
    source, destination = route[0], route[-1]
    assert fabric(network).route(source, destination) == route
    message, hops = Message(source, destination, 1000), len(route) - 1
    assert arrivals(system(network), message) == [hops * 520]
    assert arrivals(system(network, model=UNAWARE), message) == [hops * 500 + 20]


def test_xy_on_a_mesh_of_4_x_4() -> None:
    mesh, message = "Mesh2D 4x4", Message(1, 7, 1000)
    assert fabric(mesh).route(1, 7) == [1, 2, 3, 7]
    assert fabric(mesh).route(14, 5) == [14, 13, 9, 5]
    assert arrivals(system(mesh), message) == [1560]
    assert arrivals(system(mesh, model=UNAWARE), message) == [1520]


def test_hashed_routes_of_a_fat_tree_are_up_down_fixed_and_use_every_spine() -> None:
    of = fabric("FatTree 4x8x4 ecmp")
    first_leaf, first_spine = 32, 40
    spines: Counter[int] = Counter()
    for source, destination in pairs(of):
        route = of.route(source, destination)
        assert route == of.route(source, destination)
        leaves = [first_leaf + source // 4, first_leaf + destination // 4]
        if leaves[0] == leaves[1]:
            assert route == [source, leaves[0], destination]
        else:
            assert [*route[:2], *route[3:]] == [source, leaves[0], leaves[1], destination]
            spines[route[2] - first_spine] += 1
    assert sum(spines.values()) == 32 * 28
    assert set(spines) == {0, 1, 2, 3}
    assert all(0.8 * 224 < count < 1.2 * 224 for count in spines.values())


def test_deterministic_routes_of_a_fat_tree_spread_the_destinations_of_a_leaf_over_the_spines() -> None:
    of = fabric("FatTree 4x3x4 deterministic")
    assert [of.route(0, destination)[2] for destination in range(4, 8)] == [15, 16, 17, 18]
    assert fabric("FatTree 4x3x4").route(0, 7) == of.route(0, 7)


# Queues on links (simulator specification, section 6.3)

BIG, SMALL = 100_000, 1000  # 2000 and 20 ns on a link, plus 500 ns of latency


@pytest.mark.parametrize(
    ("network", "messages", "aware", "unaware"),
    [
        # 1 -> 3 holds 1-2 until 2000 and 2-3 from 2500 until 4500; the small one waits for both.
        ("Mesh2D 4x2", [(1, 3, BIG), (0, 7, SMALL)], [5000, 5540], [3000, 2020]),
        ("Ring 8", [(1, 3, BIG), (0, 4, SMALL)], [5000, 5540], [3000, 2020]),
        ("Torus2D 8x1", [(1, 3, BIG), (0, 4, SMALL)], [5000, 5540], [3000, 2020]),
        # 0 -> 3 takes 0, 1, 3 and 1 -> 2 takes 1, 0, 2: other directions, nothing is shared.
        ("Hypercube 4", [(0, 3, BIG), (1, 2, SMALL)], [5000, 1040], [3000, 1020]),
        # both need 1-3: the big one from 0 is there at 2500, the small one of 1 is gone by then.
        ("Hypercube 8", [(0, 3, BIG), (1, 7, SMALL)], [5000, 1040], [3000, 1020]),
        # links of their own
        ("FullyConnected 4", [(0, 3, BIG), (1, 2, SMALL)], [2500, 520], [2500, 520]),
        ("Switch 4", [(0, 3, BIG), (1, 2, SMALL)], [5000, 1040], [3000, 1020]),
        # destinations 4 and 6 share spine 0 and the link of leaf 0 up to it; 7 has another spine
        ("FatTree 2x4x2", [(0, 4, BIG), (1, 6, BIG)], [10000, 12000], [4000, 4000]),
        ("FatTree 2x4x2", [(0, 4, BIG), (1, 7, BIG)], [10000, 10000], [4000, 4000]),
        # the only link between two groups: the big one is on it from 2500 until 4500
        ("Dragonfly 2x2x2", [(0, 4, BIG), (2, 6, SMALL)], [7500, 2600], [3500, 2520]),
        ("Dragonfly 2x2x2", [(0, 4, SMALL), (2, 6, BIG)], [1560, 12500], [1520, 4500]),
    ],
)
def test_messages_queue_on_links_in_the_aware_model_only(
    network: str, messages: list[tuple[int, int, int]], aware: list[int], unaware: list[int]
) -> None:
    sent = [Message(*message) for message in messages]
    assert arrivals(system(network), *sent) == aware
    assert arrivals(system(network, model=UNAWARE), *sent) == unaware


def test_five_small_messages_and_a_big_one_share_the_only_link_between_two_groups() -> None:
    # Routers hold the NPUs 0-5 and 6-11. At 2000 the big message has left NPU 0, at 2500 it is at the router,
    # and on the link until 4500; the small ones are there at 520, so they go first, 20 ns each.
    on = system("Dragonfly 6x1x2")
    messages = [Message(npu, npu + 6, SMALL if npu else BIG) for npu in range(6)]
    small = [520 + 20 * place + 520 + 520 for place in range(5)]
    assert arrivals(on, *messages) == [7500, *small]


def test_the_example_of_the_specification() -> None:
    """Section 6.3: three messages of 20000 bytes leave each NPU of a switch one after the other."""
    work = workload(*[[coll(1, ALL_TO_ALL, 80_000)]] * 4)
    on = {
        model: reference_system("Switch 4 @100/50", "direct", network_model=model)
        for model in (AWARE, UNAWARE)
    }
    assert finish(work, on[AWARE]) == [864] * 4
    assert finish(work, on[UNAWARE]) == [306] * 4


# What is refused


@pytest.mark.parametrize(
    ("network", "problem"),
    [
        ("Mesh2D 4", r"network\.0\.shape is \[\]; Mesh2D needs \[width, height\]"),
        ("Torus3D 4x4", r"network\.0\.shape is \[4, 4\]; Torus3D needs \[width, height, depth\]"),
        ("Mesh2D 0x4", r"network\.0\.npus is 0"),
        ("Ring 4,Hypercube 6", r"network\.1\.npus is 6; a Hypercube needs a power of two"),
        ("Ring 2x2", r"network\.0\.shape is \[2, 2\]; Ring has none"),
        ("FatTree 2x2", r"shape is \[2, 2\]; FatTree needs \[NPUs per leaf, leaves, spines\]"),
        ("FatTree 2x2x1 random", r"network\.0\.routing is 'random'; allowed are deterministic, ecmp"),
        ("FatTree 2x2x0", r"network\.0\.shape is \[2, 2, 0\]"),
        ("Dragonfly 2x2", r"Dragonfly needs \[NPUs per router, routers per group, groups\]"),
    ],
)
def test_a_wrong_shape_names_key_value_and_what_is_allowed(network: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        system(network)


def test_a_shape_must_have_as_many_npus_as_the_dimension() -> None:
    on = system("Mesh2D 4x4")
    with pytest.raises(InputError, match=r"is \[4, 4\], which has 16 NPUs, but npus is 15"):
        dataclasses.replace(on, network=(dataclasses.replace(on.network[0], npus=15),))


def test_a_route_to_an_npu_that_does_not_exist_is_refused() -> None:
    of = fabric("Switch 4")
    assert of.route(2, 2) == [2]
    with pytest.raises(InputError, match="NPU 4 does not exist; the network has 4 NPUs"):
        of.route(0, 4)  # device 4 is the switch


def test_dimension_order_of_a_torus_is_that_of_its_product_of_rings() -> None:
    torus, product = fabric("Torus2D 4x5"), fabric("Ring 4,Ring 5")
    assert links(torus) == links(product)
    assert all(torus.route(a, b) == product.route(a, b) for a, b in itertools.permutations(range(20), 2))
