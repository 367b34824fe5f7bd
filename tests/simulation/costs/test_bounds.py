"""Lower bounds: never above what the simulator returns, and close to it where that is claimed."""

import dataclasses

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulation.simulators.random_points import Point, points, seeded_points
from studies.space.two_rings import TINY, rings

from dse.inputs.strategies import Strategy, indivisible
from dse.inputs.systems import Derating
from dse.native import _engine
from dse.simulation.costs.bounds import Bound, lower_bound
from dse.studies.config import compose_config

ROOMY = dataclasses.replace(TINY, input_dim=512, d_ff=2048)


def simulated(point: Point) -> tuple[int, int, int] | None:
    """Return wall time, peak memory and busy time, the greatest of all ranks; None without a result."""
    result = point.simulate(_engine.Method.AUTO)
    if isinstance(result, str) or result.deadlock:
        return None
    ranks = result.classes
    wall, memory = max(rank.wall_time_ns for rank in ranks), max(rank.peak_memory_bytes for rank in ranks)
    return wall, memory, max(rank.gpu_time_ns for rank in ranks)


def assert_sound(point: Point) -> Bound:
    bound, truth = lower_bound(point.model, point.strategy, point.system), simulated(point)
    if truth is not None:
        assert bound.wall_time_ns <= truth[0], point
        assert bound.peak_memory_bytes <= truth[1], point
        if bound.wall_time_ns and point.strategy.pp == 1:
            assert bound.wall_time_ns == truth[2], point  # all that is computed, to the ns
    return bound


@pytest.mark.parametrize("seed", range(4))
def test_a_bound_is_never_above_the_simulation(seed: int) -> None:
    bounds = [assert_sound(point) for point in seeded_points(seed, 600)]
    assert sum(bound.wall_time_ns > 0 for bound in bounds) > 150


def _slowed(point: Point, factors: list[tuple[int, float, float]]) -> Point:
    npus = point.system.npus
    deratings = tuple(Derating(npu % npus, compute, memory) for npu, compute, memory in factors)
    return dataclasses.replace(point, system=dataclasses.replace(point.system, deratings=deratings))


FACTORS = st.sampled_from([0.1, 0.5, 1.0, 1.7, 4.0])


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(points(), st.lists(st.tuples(st.integers(0, 47), FACTORS, FACTORS), max_size=5))
def test_a_bound_holds_with_slow_and_fast_npus(point: Point, factors: list[tuple[int, float, float]]) -> None:
    assert_sound(_slowed(point, factors))


@pytest.mark.parametrize("seed", range(2))
def test_a_bound_holds_where_every_npu_differs(seed: int) -> None:
    for point in seeded_points(seed + 100, 150):
        factors = [(npu, 1.5 + npu % 3, 2.0 - npu % 2) for npu in range(point.system.npus)]
        assert_sound(_slowed(point, factors))


@pytest.mark.parametrize(
    ("overrides", "least_time", "least_memory"),
    [
        (["model=tiny", "system=torus_4x4", "space=full"], 0.2, 0.2),
        (["model=llama70b", "system=system1", "model.num_layers=4"], 0.2, 0.3),
        (["model=gpt175b", "system=system1", "model.num_layers=3", "space=full"], 0.0, 0.0),
    ],
)
def test_a_bound_holds_over_whole_spaces(
    overrides: list[str], least_time: float, least_memory: float
) -> None:
    config = compose_config(overrides)
    strategies = config.space.strategies(config.model, config.system)
    feasible = [s for s in strategies if s.pp <= config.model.num_layers + 2]
    for strategy in feasible:
        point = Point(config.model, strategy, config.system)
        bound, truth = assert_sound(point), simulated(point)
        if truth is not None and not indivisible(config.model, strategy):
            assert bound.wall_time_ns > least_time * truth[0]
            assert bound.peak_memory_bytes > least_memory * truth[1]


def test_the_slowest_npu_counts_without_stages() -> None:
    point = Point(ROOMY, Strategy(dp=2), rings(2))
    both = dataclasses.replace(point.system, deratings=(Derating(0, 0.5, 0.5), Derating(1, 0.25, 1.0)))
    slow = dataclasses.replace(point, system=both)
    assert assert_sound(slow).wall_time_ns > 2.9 * assert_sound(point).wall_time_ns


def test_where_nothing_is_known_nothing_is_claimed() -> None:
    system, strategy = rings(2), Strategy(tp=2)
    whole = lower_bound(TINY, strategy, system)
    assert min(whole) > 0
    assert lower_bound(dataclasses.replace(TINY, d_ff=4095), strategy, system) == (0, 0)
    for change in ({"roofline_enabled": False}, {"replay_only": True}):
        untimed = dataclasses.replace(system, **change)
        assert lower_bound(TINY, strategy, untimed) == (0, whole.peak_memory_bytes)
    truth = simulated(Point(TINY, strategy, dataclasses.replace(system, roofline_enabled=False)))
    assert truth is not None
    assert whole.peak_memory_bytes <= truth[1]
    untracked = dataclasses.replace(system, track_local_memory=False)
    assert lower_bound(TINY, strategy, untracked) == (whole.wall_time_ns, 0)


@pytest.mark.parametrize(
    "strategy", [Strategy(dp=2, weight_sharded=True), Strategy(sp=2, weight_sharded=True)]
)
def test_passes_that_take_no_time_share_their_memory(strategy: Strategy) -> None:
    """Both passes end in the instant in which the last weights arrive, so no activation waits."""
    untimed = Point(TINY, strategy, dataclasses.replace(rings(2), roofline_enabled=False))
    truth = simulated(untimed)
    assert truth is not None
    assert truth[1] == 643825664
    assert assert_sound(untimed).peak_memory_bytes == 27262976


@pytest.mark.parametrize("seed", range(2))
def test_a_bound_holds_without_the_roofline(seed: int) -> None:
    bounds = [
        assert_sound(
            dataclasses.replace(point, system=dataclasses.replace(point.system, roofline_enabled=False))
        )
        for point in seeded_points(seed + 200, 300)
    ]
    assert sum(bound.peak_memory_bytes > 0 for bound in bounds) > 100


def test_numbers_beyond_doubles_stay_sound() -> None:
    huge = dataclasses.replace(TINY, batch_size=2**20, seq_len=2**10, d_ff=2**17 + 2)
    for strategy in (Strategy(dp=2), Strategy(pp=2), Strategy(tp=2, activation_recompute=True)):
        point = Point(huge, strategy, rings(2))
        bound, truth = lower_bound(huge, strategy, point.system), simulated(point)
        assert truth is not None
        assert 0.99 * truth[2] < bound.wall_time_ns <= truth[0]
        assert 0 < bound.peak_memory_bytes <= truth[1]


def test_nothing_is_claimed_for_a_model_with_repairs() -> None:
    realistic = dataclasses.replace(TINY, fidelity="realistic")
    assert lower_bound(realistic, Strategy(dp=4), rings(4)) == Bound(0, 0)
    assert lower_bound(TINY, Strategy(dp=4), rings(4)).wall_time_ns > 0
