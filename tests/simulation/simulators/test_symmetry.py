"""One rank simulated for many: equal to every rank on its own, for every figure of every rank."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from random_points import (
    BYTE_PER_NS,
    Comparison,
    Point,
    compare,
    extreme_point,
    points,
    random_point,
    seeded_points,
    small_point,
    tied_point,
)

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import Derating, Dimension, RemoteMemory, SystemSpec
from dse.native import _engine
from dse.studies.config import compose_config
from dse.studies.points import point_of, run_point
from dse.studies.space import sample
from dse.testing.builders import system

NIGHTLY = os.environ.get("DSE_NIGHTLY") == "1"
SEEDS = range(1, 81 if NIGHTLY else 9)
POINTS_PER_SEED = 250
SMALL = ModelSpec("small", 32, 32, 16, 32, 2, 8, 8, 2)
DP8 = Strategy(dp=8)
PIPELINE = Strategy(dp=2, tp=2, pp=2)
TIE = "two events of one tick whose order may differ between ranks"


@pytest.mark.parametrize("seed", SEEDS)
def test_random_points_are_the_same_by_classes_and_by_ranks(seed: int) -> None:
    for point in seeded_points(seed, POINTS_PER_SEED):
        assert compare(point).differences == [], point


@pytest.mark.parametrize("seed", range(1, 21 if NIGHTLY else 2))
def test_points_full_of_ties_are_the_same_by_classes_and_by_ranks(seed: int) -> None:
    """Without the tie guard, five of the first 8000 differ."""
    for point in seeded_points(seed, 8000, tied_point):
        assert compare(point).differences == [], point


@pytest.mark.parametrize("draw", [small_point, extreme_point])
@pytest.mark.parametrize("seed", range(1, 81 if NIGHTLY else 3))
def test_small_and_extreme_points_are_the_same_by_classes_and_by_ranks(
    seed: int, draw: Callable[[random.Random], Point]
) -> None:
    for point in seeded_points(seed, POINTS_PER_SEED, draw):
        assert compare(point).differences == [], point


@pytest.mark.parametrize("draw", [random_point, tied_point, small_point, extreme_point])
@pytest.mark.parametrize("seed", range(1, 21 if NIGHTLY else 2))
def test_groups_that_run_other_algorithms_are_the_same_by_classes_and_by_ranks(
    seed: int, draw: Callable[[random.Random], Point]
) -> None:
    """ASTRA-sim of 2026 runs what a list of one algorithm names, in groups too; few points have one."""
    results: list[bool] = []
    for number, point in enumerate(seeded_points(seed, 4 * POINTS_PER_SEED, draw)):
        if number >= POINTS_PER_SEED and sum(results) > 10:
            break
        result = compare(replace(point, reference="astra-sim-2026-03"))
        assert result.differences == [], point
        names = point.system.collectives.all_reduce
        results.append(result.by_classes and len(names) == 1 and "ing" not in names[0])
    assert sum(results) > 10


def test_extreme_points_meet_what_they_are_for() -> None:
    """Both kinds of points reach the end of time, empty messages, deadlocks and the shortcut."""
    results = [
        compare(point) for draw in (small_point, extreme_point) for point in seeded_points(1, 300, draw)
    ]
    assert sum("end of simulated time" in result.error for result in results) > 10
    assert sum("between pipeline stages has 0 bytes" in result.error for result in results) > 10
    assert sum(result.deadlock for result in results) > 10
    assert sum(result.by_classes for result in results) > 60


@settings(
    max_examples=5000 if NIGHTLY else 200,
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
    "streams enter a queue from two neighbours in one tick": (
        DP8,  # reduce-scatter in dimension 0 takes as long as reduce-scatter in 1 and all-reduce in 2
        _slow(
            "Switch 2 @100000/30,Switch 2 @100000/5,Switch 2 @100000/5",
            preferred_dataset_splits=4,
            peak_tflops=0.0001,
            memory_bandwidth_gbps=1000,
        ),
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


def test_events_of_one_tick_whose_order_matters_are_an_obstacle() -> None:
    """Without the guard the shortcut gives another result here."""
    model = ModelSpec("tie", 8, 16, 16, 8, 1, 16, 4, 4)
    on = replace(
        system("Ring 2 @1/16", memory_bandwidth_gbps=64, peak_tflops=0.256, endpoint_delay_ns=32),
        network=(Dimension("Ring", 2, 32 * BYTE_PER_NS, 16),),
        track_local_memory=True,
    )
    assert compare(Point(model, Strategy(sp=2, weight_sharded=True), on)) == Comparison([], False, TIE)


def test_ranks_that_never_finish_are_the_same() -> None:
    # Shards of less than one element have no operations, and a node without operations never ends.
    narrow = ModelSpec("narrow", 8, 8, 1, 8, 2, 8, 8, 2)
    point = Point(narrow, replace(PIPELINE, sp=2), _slow("Switch 16 @100/50"))
    assert compare(point) == Comparison([], True, deadlock=True)


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


LAB = ("system1", "llama70b"), ("system2", "gpt175b")


@pytest.mark.parametrize(("system_name", "model_name"), LAB)
def test_every_point_of_the_lab_takes_the_shortcut(system_name: str, model_name: str) -> None:
    config = compose_config([f"system={system_name}", f"model={model_name}"])
    points = config.space.strategies(config.model, config.system)
    assert len(points) == 56
    outcomes = [run_point(point_of(config, strategy))[1] for strategy in points]
    assert [outcome.obstacle for outcome in outcomes] == [None] * 56


@pytest.mark.parametrize(("system_name", "model_name"), LAB)
def test_points_of_the_lab_with_few_layers_are_the_same(system_name: str, model_name: str) -> None:
    config = compose_config([f"system={system_name}", f"model={model_name}", "model.num_layers=4"])
    for strategy in sample(config.space.strategies(config.model, config.system), 6, seed=3):
        assert compare(Point(config.model, strategy, config.system)) == Comparison([], True)


def test_stages_whose_neighbours_are_at_different_distances_are_classes() -> None:
    # Stages of two ranks on Ring 4 x Switch 4: to the next stage it is two hops, or another dimension.
    point = Point(replace(SMALL, num_layers=6), Strategy(dp=2, pp=8), _slow("Ring 4 @100/50,Switch 4 @1/500"))
    assert compare(point) == Comparison([], True)
    result = point.simulate(_engine.Method.AUTO)
    assert isinstance(result, _engine.SimulationResult)
    assert result.class_of_rank == [stage for stage in range(8) for _ in range(2)]
    assert len({figures.finish_ns for figures in result.classes}) > 2
