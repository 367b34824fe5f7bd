"""One rank simulated for many: equal to every rank on its own, for every figure of every rank."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import RING16, TINY, dimension, system
from hypothesis import HealthCheck, given, settings
from random_points import BYTE_PER_NS, Comparison, Point, compare, points, seeded_points

from dse import _engine
from dse.config import compose_config
from dse.executors import point_of, run_point
from dse.models import ModelSpec
from dse.simulators import NativeSimulator
from dse.simulators.native import native_system
from dse.strategies import Strategy, sample
from dse.systems import Derating, Dimension, RemoteMemory, SystemSpec
from dse.workloads import generate

NIGHTLY = os.environ.get("DSE_NIGHTLY") == "1"
SEEDS = range(1, 41 if NIGHTLY else 5)
POINTS_PER_SEED = 250
SMALL = ModelSpec("small", 32, 32, 16, 32, 2, 8, 8, 2)
DP8 = Strategy(dp=8)
PIPELINE = Strategy(dp=2, tp=2, pp=2)
TIE = "two events of one tick whose order may differ between ranks"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_points_are_the_same_by_classes_and_by_ranks(seed: int) -> None:
    for point in seeded_points(seed, POINTS_PER_SEED):
        assert compare(point).differences == [], point


@settings(
    max_examples=3000 if NIGHTLY else 150,
    deadline=None,
    derandomize=not NIGHTLY,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(points())
def test_drawn_points_are_the_same_by_classes_and_by_ranks(point: Point) -> None:
    assert compare(point).differences == []


def test_most_of_the_random_points_take_the_shortcut() -> None:
    """Otherwise the property above would compare the general engine with itself."""
    results = [compare(point) for point in seeded_points(1, 400)]
    assert sum(result.by_classes for result in results) > 200
    assert sum(result.obstacle == TIE for result in results) > 10
    assert sum(bool(result.error) for result in results) < 80
    assert any(result.by_classes and result.deadlock for result in _deadlocks())


def _deadlocks() -> list[Comparison]:
    return [compare(point) for point in seeded_points(8, 1000) if point.strategy.pp > 1]


# ---- a small case for each obstacle that a generated workload can meet ----


def _slow(network: str, algorithms: str = "", **changes: Any) -> SystemSpec:
    """Slow enough for the small model: its shortest computation takes more than 1 ns."""
    return system(network, algorithms, **{"peak_tflops": 0.01, "memory_bandwidth_gbps": 1, **changes})


def _switch8(**changes: Any) -> SystemSpec:
    return _slow("Switch 8 @100/50", **changes)


OBSTACLES = {
    "several queues per dimension": (PIPELINE, _switch8(queues_per_dimension=2)),
    "rendezvous protocol": (PIPELINE, _switch8(rendezvous_protocol=True)),
    "endpoint delay of 0": (PIPELINE, _switch8(endpoint_delay_ns=0)),
    "shared remote memory": (PIPELINE, _switch8(remote_memory=RemoteMemory("MEMORY_POOL", 10, 1))),
    "links couple ranks in a congestion-aware network": (
        PIPELINE,
        _switch8(network_model="congestion_aware"),
    ),
    "every rank has its own trace": (Strategy(pp=4), _slow("Switch 4 @100/50")),
    "the ring of group 1 has unequal wires": (Strategy(dp=4, tp=2), _slow("Ring 8 @100/50")),
    "a logical ring over all ranks of several dimensions": (
        DP8,
        _slow("Switch 2 @100/50,Switch 4 @100/50", "oneRing ring"),
    ),
    "a message without delay": (DP8, _slow("Switch 8 @1000000/0")),
    "the members of a tree do different things": (DP8, _slow("Switch 8 @100/50", "doubleBinaryTree")),
    "direct with a small window": (DP8, _slow("Switch 8 @100/50", "direct2")),
    "direct all-reduce over unequal wires": (DP8, _slow("Ring 8 @100/50", "direct")),
    "halving-doubling without a power of two": (
        Strategy(dp=6),
        _slow("Switch 6 @100/50", "halvingDoubling"),
    ),
    "a topology that rotations do not map onto itself": (
        DP8,
        replace(_slow("Switch 8 @100/50"), network=(Dimension("Mesh2D", 8, 100, 50, shape=(4, 2)),)),
    ),
    "group 1 has ranks of several classes": (PIPELINE, _switch8(deratings=(Derating(1, 0.5, 0.5),))),
    "a group of all ranks has several classes": (DP8, _switch8(deratings=(Derating(1, 0.5, 0.5),))),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_an_obstacle_is_named_and_the_result_is_that_of_all_ranks(obstacle: str) -> None:
    strategy, on = OBSTACLES[obstacle]
    result = compare(Point(SMALL, strategy, on))
    assert result == Comparison([], False, obstacle, result.deadlock)


def test_unequal_links_are_an_obstacle(tmp_path: Path) -> None:
    links = "".join(f"{a},{b},50,{100 + a}\n" for a in range(8) for b in range(8) if a != b)
    graph = tmp_path / "graph.csv"
    graph.write_text(f"8\nSrc,Dest,Latency (ns),Bandwidth (GB/s)\n{links}")
    on = replace(_switch8(), network=(Dimension("Graph", 8, 100, 50, file=str(graph)),))
    assert compare(Point(SMALL, PIPELINE, on)) == Comparison([], False, "a network with unequal links")


@pytest.mark.parametrize(
    ("strategy", "on"),
    [
        (PIPELINE, _switch8()),
        (replace(PIPELINE, weight_sharded=True, activation_recompute=True), _switch8()),
        (DP8, _slow("Ring 8 @100/50")),
        (DP8, _slow("FullyConnected 8 @100/50", "direct")),
        (DP8, _slow("Switch 8 @100/50", "halvingDoubling")),
        (DP8, _slow("Switch 8 @100/50", "oneRing")),
        (DP8, _slow("Ring 2 @100/50,Ring 4 @50/10", preferred_dataset_splits=10)),
        (Strategy(dp=2, pp=4), _slow("Ring 4 @100/50,Switch 2 @10/500")),
    ],
)
def test_without_an_obstacle_there_are_classes(strategy: Strategy, on: SystemSpec) -> None:
    assert compare(Point(SMALL, strategy, on)) == Comparison([], True)


def test_stages_whose_neighbours_are_at_different_distances_are_classes() -> None:
    # Stages of two ranks on Ring 4 x Switch 4: to the next stage it is two hops, or another dimension.
    point = Point(replace(SMALL, num_layers=6), Strategy(dp=2, pp=8), _slow("Ring 4 @100/50,Switch 4 @1/500"))
    assert compare(point) == Comparison([], True)
    result = point.simulate(_engine.Method.AUTO)
    assert isinstance(result, _engine.SimulationResult)
    assert result.class_of_rank == [stage for stage in range(8) for _ in range(2)]
    assert len({figures.finish_ns for figures in result.classes}) > 2
