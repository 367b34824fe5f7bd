"""Pruning: the optimum, with and without a cap, is that of the whole space, in any order of points."""

import functools
import random

import pytest
from simulation.simulators.random_points import Point

from dse.native import _engine
from dse.simulation.costs.bounds import Bound, lower_bound
from dse.studies.config import compose_config
from dse.studies.space.pruning import SLOWER, TOO_LARGE, Pruner

PAIRS = [(model, system) for model in ("llama70b", "gpt175b") for system in ("system1", "system2")]
SPACES = [
    *((f"model={model}", f"system={system}", "model.num_layers=3") for model, system in PAIRS),
    ("model=tiny", "system=torus_4x4", "space=full"),
    ("model=tiny", "system=dgx16", "space=full", "model.seq_len=2048"),
]
Evaluated = tuple[Bound, int, int]


@functools.cache
def evaluated(space: tuple[str, ...]) -> list[Evaluated]:
    """Return bound, wall time and peak memory of the points that have a result."""
    config = compose_config(space)
    found = []
    for strategy in config.space.strategies(config.model, config.system):
        if strategy.pp > config.model.num_layers + 2:
            continue
        result = Point(config.model, strategy, config.system).simulate(_engine.Method.AUTO)
        assert not isinstance(result, str)
        if not result.deadlock:
            wall = max(rank.wall_time_ns for rank in result.classes)
            memory = max(rank.peak_memory_bytes for rank in result.classes)
            found.append((lower_bound(config.model, strategy, config.system), wall, memory))
    return found


def pruned(points: list[Evaluated], cap: int | None) -> tuple[list[Evaluated], Pruner]:
    """Return the points that are evaluated, in this order."""
    pruner, kept = Pruner(cap), []
    for point in points:
        if pruner.can_win("scenario", point[0]):
            pruner.saw("scenario", point[1], point[2])
            kept.append(point)
    return kept, pruner


def optima(points: list[Evaluated], cap: int) -> tuple[list[Evaluated], list[Evaluated]]:
    """Return the fastest points, all that tie, without and with the cap."""
    fitting = [point for point in points if point[2] <= cap]
    return tuple(
        sorted(point for point in some if point[1] == min(other[1] for other in some))
        for some in (points, fitting)
    )  # type: ignore[return-value]


@pytest.mark.parametrize("space", SPACES, ids="-".join)
def test_the_optimum_is_that_of_the_whole_space(space: tuple[str, ...]) -> None:
    points = evaluated(space)
    rng = random.Random(1)
    memories = sorted(point[2] for point in points)
    for _ in range(60):
        cap = rng.choice([memories[0] - 1, *memories])
        order = rng.sample(points, len(points))
        kept, pruner = pruned(order, cap)
        assert optima(kept, cap) == optima(points, cap)
        assert len(kept) + sum(pruner.counts().values()) == len(points)
        without_cap, _ = pruned(order, None)
        assert optima(without_cap, cap)[0] == optima(points, cap)[0]


@pytest.mark.parametrize("space", SPACES, ids="-".join)
def test_pruning_leaves_points_out_when_good_ones_come_first(space: tuple[str, ...]) -> None:
    points = sorted(evaluated(space), key=lambda point: point[0].wall_time_ns)
    kept, _ = pruned(points, None)
    assert len(kept) < 0.95 * len(points)


def test_a_point_is_pruned_for_the_reason_that_proves_it() -> None:
    pruner = Pruner(100)
    assert pruner.can_win("a", Bound(10**9, 10**9))  # nothing is known yet
    pruner.saw("a", 50, 101)
    assert pruner.can_win("a", Bound(50, 101))  # a tie
    assert pruner.can_win("a", Bound(51, 100))  # may be the first that fits
    assert not pruner.can_win("a", Bound(51, 101))
    pruner.saw("a", 70, 100)
    pruner.saw("a", 90, 100)
    assert pruner.can_win("a", Bound(70, 100))
    assert not pruner.can_win("a", Bound(71, 0))
    assert not pruner.can_win("a", Bound(51, 101))
    assert pruner.can_win("b", Bound(71, 101))  # another scenario
    assert pruner.counts() == {SLOWER: 1, TOO_LARGE: 2}


def test_without_a_cap_everything_fits_and_with_one_an_unknown_peak_does_not() -> None:
    free, capped = Pruner(None), Pruner(100)
    for pruner in (free, capped):
        pruner.saw("a", 50, None)
    assert not free.can_win("a", Bound(51, 0))
    assert capped.can_win("a", Bound(51, 0))
    assert free.can_win("a", Bound(0, 0))
