"""Products of topologies: devices, routes, and times under congestion, which the reference lacks."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from shapes import (
    AWARE,
    MODELS,
    UNAWARE,
    Message,
    arrivals,
    degrees,
    diameter,
    fabric,
    has_circular_waits,
    links,
    pairs,
    steps,
    system,
)

from dse.inputs.strategies import Strategy
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import Workload, generate
from dse.studies.config import compose_config
from dse.testing.builders import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, TINY, coll, finish, workload

# Devices, links, links of a longest route. A line of NPUs along a dimension has its own links and switches.
PRODUCTS = {
    "FullyConnected 4,Switch 2": (8 + 4, 2 * 12 + 4 * 4, 1 + 2),
    "Switch 2,FullyConnected 4": (8 + 4, 4 * 4 + 2 * 12, 2 + 1),
    "Ring 4,Ring 4": (16, 4 * 8 + 4 * 8, 2 + 2),
    "Mesh2D 3x2,Switch 3": (18 + 6, 3 * 14 + 6 * 6, 3 + 2),
    "Hypercube 4,FatTree 2x2x1": (16 + 4 * 3, 4 * 8 + 4 * 12, 2 + 4),
    "Switch 2,Ring 3,FullyConnected 2": (12 + 6, 6 * 4 + 4 * 6 + 6 * 2, 2 + 1 + 1),
    "Dragonfly 1x2x2,Mesh2D 2x2": (16 + 4 * 4, 4 * 14 + 4 * 8, 5 + 2),
}


@pytest.mark.parametrize("network", PRODUCTS)
def test_devices_links_and_routes_of_a_product(network: str) -> None:
    of = fabric(network)
    assert (of.devices, len(links(of)), diameter(of)) == PRODUCTS[network]
    existing = links(of)
    for source, destination in pairs(of):
        route = of.route(source, destination)
        assert (route[0], route[-1]) == (source, destination)
        assert existing.issuperset(steps(route))
        assert len(set(route)) == len(route)
    parts = [fabric(text) for text in network.split(",")]
    strides = [math.prod(part.npus for part in parts[:d]) for d in range(len(parts))]
    assert degrees(of)[: of.npus] == [
        sum(degrees(part)[npu // stride % part.npus] for part, stride in zip(parts, strides, strict=True))
        for npu in range(of.npus)
    ]


@pytest.mark.parametrize("network", PRODUCTS)
def test_routes_correct_the_first_dimension_first_and_cannot_wait_in_a_circle(network: str) -> None:
    """Dimension by dimension, so a circle of waiting links would have to lie in one dimension."""
    of = fabric(network)
    first = fabric(network.split(",")[0])
    for source, destination in pairs(of):
        corrected = source - source % first.npus + destination % first.npus
        there = of.route(source, corrected)
        assert of.route(source, destination)[: len(there)] == there
    assert has_circular_waits(of) == (network == "Ring 4,Ring 4")


def test_routes_of_nodes_of_four_on_switches() -> None:
    #   nodes {0 1 2 3} and {4 5 6 7}, each fully connected; switch 8 + i joins i and 4 + i
    of = fabric("FullyConnected 4,Switch 2")
    assert of.route(0, 3) == [0, 3]
    assert of.route(0, 4) == [0, 8, 4]
    assert of.route(0, 7) == [0, 3, 11, 7]
    assert of.route(6, 1) == [6, 5, 9, 1]


NODES = "FullyConnected 4 @50/500,Switch 2 @10/100"  # 1000 bytes: 520 ns in a node, 200 ns a link of a switch


def test_the_unaware_model_charges_the_lowest_dimension_only_and_the_aware_one_every_link() -> None:
    aware, unaware = (system(NODES, model=model) for model in (AWARE, UNAWARE))
    assert arrivals(aware, Message(0, 3, 1000)) == arrivals(unaware, Message(0, 3, 1000)) == [520]
    assert arrivals(aware, Message(0, 4, 1000)) == [400]
    assert arrivals(unaware, Message(0, 4, 1000)) == [300]
    assert arrivals(aware, Message(0, 7, 1000)) == [520 + 400]
    assert arrivals(unaware, Message(0, 7, 1000)) == [520]


def test_messages_of_two_dimensions_meet_on_a_link() -> None:
    on = system("FullyConnected 4 @50/500,Switch 3 @10/100")
    assert fabric(on).route(1, 7) == [1, 3, 15, 7]
    assert fabric(on).route(3, 11) == [3, 15, 11]
    # the message from 1 is at 3 at 520; 3's own, of 10000 bytes, leaves the link to the switch at 1000
    assert arrivals(on, Message(1, 7, 1000), Message(3, 11, 10_000)) == [1000 + 200 + 200, 2 * 1100]
    assert arrivals(on, Message(1, 7, 1000)) == [520 + 200 + 200]


def _all(npus: int, kind: int, size: int) -> Workload:
    return workload(*[[coll(1, kind, size)]] * npus)


def test_collectives_of_nodes_on_switches_have_literal_times() -> None:
    """Phase by phase: 10 ns at both ends, and messages that have their links to themselves.

    All-gather of 1000 bytes: over the switches first (1000 bytes), then in the node (2000 bytes). In the
    aware model a switch stores and forwards: 2 x (100 + 100) instead of 2 x 100 + 100 ns.
    """
    work = _all(8, ALL_GATHER, 1000)
    aware, unaware = (system(NODES, "direct direct", model=model) for model in (AWARE, UNAWARE))
    assert finish(work, aware) == [(10 + 400 + 10) + (10 + 540 + 10)] * 8
    assert finish(work, unaware) == [(10 + 300 + 10) + (10 + 540 + 10)] * 8
    # all-to-all of 8000 bytes: in the node 3 messages of 2000 bytes; over the switch 1 of 4000 bytes
    work = _all(8, ALL_TO_ALL, 8000)
    assert finish(work, aware) == [(10 + 540 + 10) + (10 + 2 * 500 + 10)] * 8
    assert finish(work, unaware) == [(10 + 540 + 10) + (10 + 2 * 100 + 400 + 10)] * 8


def test_messages_of_a_direct_exchange_queue_on_the_link_to_the_switch() -> None:
    """Switch 4 x Ring 2: in the switch each NPU sends three messages of 1000 bytes back to back.

    The link up serialises them (100 ns each, at 10, 110, 210); each link down gets one at a time, in turn.
    """
    work = _all(8, ALL_GATHER, 1000)
    on = system("Ring 2 @50/500,Switch 4 @10/100", "ring direct")
    # the last of three leaves at 210, is at the switch at 410 and there at 610; then the ring: 4000 bytes
    assert finish(work, on) == [(10 + 600 + 10) + (10 + 580 + 10)] * 8
    unaware = replace(on, network_model=UNAWARE)
    assert finish(work, unaware) == [(10 + 300 + 10) + (10 + 580 + 10)] * 8


def test_rings_of_a_torus_have_links_of_their_own() -> None:
    """Ring collectives send to neighbours only: both models give the same times, in two dimensions too."""
    for kind in (ALL_REDUCE, ALL_GATHER):
        aware, unaware = (finish(_all(16, kind, 64_000), system("Ring 4,Ring 4", model=m)) for m in MODELS)
        assert aware == unaware
        assert len(set(aware)) == 1


# A whole training step: tiny, 16 NPUs, two rings of four. Without congestion, with it.
STEPS = [
    (Strategy(dp=16), 555_332, 920_382),
    (Strategy(tp=16), 3_179_551, 10_020_363),
    (Strategy(sp=16), 1_538_571, 4_672_194),
    (Strategy(dp=4, tp=4), 997_110, 2_608_364),
    (Strategy(dp=2, tp=2, sp=2, pp=2), 1_525_629, 4_655_158),
    (Strategy(dp=4, pp=4), 2_398_696, 2_451_314),
]


@pytest.mark.parametrize(("strategy", "unaware", "aware"), STEPS)
def test_a_training_step_on_a_torus_finishes_and_takes_longer_with_queues(
    strategy: Strategy, unaware: int, aware: int
) -> None:
    torus = compose_config(["system=torus_4x4"]).system
    work = generate(TINY, strategy)
    times = {}
    for model in MODELS:
        outcome = NativeSimulator().simulate(work, replace(torus, network_model=model))
        assert outcome.status == "ok", outcome.reason
        times[model] = max(metrics.wall_time_ns for metrics in outcome.classes if metrics is not None)
    assert times == {UNAWARE: unaware, AWARE: aware}
