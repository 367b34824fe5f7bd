"""The engine's rules of the walk equal a plain reading of them, on recorded vectors and on random ones."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
import walk_oracle as oracle
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dse.base.errors import InputError
from dse.native._solvers import device_groups, partition_layers, rebalanced_shares, split_batch
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.costs import Infeasible, rule_named
from dse.planner.problem.problem import ClusterPlan, PlanProblem, Profile, ProfileKey, ProfileSet, plain_sum
from dse.planner.search.planners.metis import PlanRows, walk

UNITS = json.loads((Path(__file__).parents[1] / "golden" / "planner" / "units.json").read_text())


def ids(rule: str) -> list[Any]:
    """Return the recorded vectors of a rule."""
    return list(UNITS[rule])


@pytest.mark.parametrize("case", ids("groups"))
def test_recorded_groups(case: Any) -> None:
    arguments = (case["gpus"], case["stages"], case["scale"], case["limit"])
    assert device_groups(*arguments) == oracle.device_groups(*arguments) == case["lists"]


@pytest.mark.parametrize("case", ids("balance"))
def test_recorded_partitions(case: Any) -> None:
    assert partition_layers(case["weights"], case["capacity"]) == case["partition"]
    assert oracle.partition(case["weights"], case["capacity"]) == case["partition"]


@pytest.mark.parametrize("case", ids("rebalance"))
def test_recorded_rebalancing(case: Any) -> None:
    arguments = (case["performance"], case["capacity_mb"], case["demand_mb"])
    assert rebalanced_shares(*arguments) == oracle.rebalanced(*arguments) == case["result"]


@pytest.mark.parametrize("case", ids("split"))
def test_recorded_splits(case: Any) -> None:
    width = len(case["gpu_types"]) // case["dp"]
    speeds = [1 / case["batch1_ms"][case["gpu_types"][r * width]] for r in range(case["dp"])]
    assert split_batch(speeds, case["batch"]) == oracle.split(speeds, case["batch"]) == case["result"]


@given(st.integers(0, 4), st.integers(1, 12), st.integers(0, 2), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_groups_of_any_cluster(log2_gpus: int, stages: int, scale: int, limit: int) -> None:
    arguments = (2**log2_gpus, stages, scale, limit)
    assume(sum(1 for _ in itertools.islice(oracle.device_groups(*arguments), 2001)) <= 2000)
    assert device_groups(*arguments) == oracle.device_groups(*arguments)


positive = st.floats(1e-3, 1e3)


@given(st.lists(positive, min_size=1, max_size=24), st.lists(st.floats(0, 10), min_size=1, max_size=16))
@settings(max_examples=150, deadline=None)
def test_partitions_of_any_weights(weights: list[float], shares: list[float]) -> None:
    assume(plain_sum(shares) > 0)
    weights = [weight / plain_sum(weights) for weight in weights]
    shares = [share / plain_sum(shares) for share in shares]
    assert partition_layers(weights, shares) == oracle.partition(weights, shares)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=30))
@settings(max_examples=150, deadline=None)
def test_rebalancing_of_any_stages(stages: list[tuple[float, float, float]]) -> None:
    shares, capacity, demand = (list(column) for column in zip(*stages, strict=True))
    shares = [share / plain_sum(shares) for share in shares]
    try:
        expected = oracle.rebalanced(shares, capacity, demand)
    except oracle.NeverEnds:
        with pytest.raises(InputError, match="memory balancing never ends"):
            rebalanced_shares(shares, capacity, demand)
        return
    assert rebalanced_shares(shares, capacity, demand) == expected


def test_rebalancing_that_never_ends_is_an_error() -> None:
    others = 39  # each with room for 0.0009 of the model; the last stage gives up 0.02 of it
    shares = [0.8 / others] * others + [0.2]
    capacity = [1 + 0.0009 / (0.8 / others)] * others + [1.0]
    demand = [1.0] * others + [1.0]
    with pytest.raises(oracle.NeverEnds):
        oracle.rebalanced(shares, capacity, demand)
    with pytest.raises(InputError, match="memory balancing never ends"):
        rebalanced_shares(shares, capacity, demand)


@given(st.lists(positive, min_size=1, max_size=16), st.integers(0, 300))
@settings(max_examples=200, deadline=None)
def test_splits_place_every_sample(speeds: list[float], batch: int) -> None:
    samples = split_batch(speeds, batch)
    assert samples == oracle.split(speeds, batch)
    assert sum(samples) == batch


@st.composite
def problems(draw: st.DrawFn) -> PlanProblem:
    """Small clusters of one to three types with profiles that follow no rule."""
    types = ("A100", "V100", "T4")[: draw(st.integers(1, 3))]
    gpus = 2 ** draw(st.integers(0, 2))
    kinds = list(types) + [draw(st.sampled_from(types)) for _ in range(4)]
    hosts = 2 ** draw(st.integers((len(types) - 1).bit_length(), 2))
    cluster = MixedCluster(
        tuple(
            Host(f"h{i}", kind, gpus, draw(st.floats(1, 99)), draw(st.floats(1, 99)))
            for i, kind in enumerate(kinds[:hosts])
        ),
        {type_: draw(st.floats(0.05, 3)) for type_ in types},
    )
    gbs, layers = draw(st.integers(1, 12)), draw(st.integers(2, 7))
    most_ones = draw(st.sampled_from([1, 4, 4]))  # 1: powers of two alone have profiles
    numbers = random.Random(draw(st.integers(0, 2**32)))
    profiles = {
        ProfileKey(type_, 2**degree, batch): Profile(
            tuple(numbers.uniform(0.1, 30) for _ in range(layers)),
            tuple(numbers.uniform(1, 100) for _ in range(layers)),
            numbers.choice([-0.5, 0.0, 0.5, 7.3]),
            numbers.uniform(0.1, 30),
            numbers.uniform(0.1, 30),
        )
        for type_ in types
        for degree in range(5)
        for batch in range(1, gbs + 1)
        if batch.bit_count() <= most_ones
    }
    return PlanProblem(
        cluster,
        ProfileSet(profiles, ProfileKey(types[0], 1, 1), tuple(map(float, range(1, layers + 1)))),
        tuple(draw(st.permutations(types))),
        gbs=gbs,
        max_tp=2 ** draw(st.integers(0, 4)),
        max_batch=draw(st.integers(1, 12)),
        group_scale=draw(st.integers(0, 1)),
        permutation_limit=draw(st.integers(1, 6)),
    )


def assert_the_walk_is_the_oracle_s(problem: PlanProblem, strat: bool) -> None:
    """Compare counts, plans and prices, bit by bit."""
    rule = rule_named(problem, "compat")
    plans: list[ClusterPlan] = []
    costs: list[float] = []
    walked = oracle.Oracle(problem, strat).run()
    for plan in walked.plans:
        try:
            costs.append(rule.price(plan).cost_ms)
            plans.append(plan)
        except Infeasible:
            continue
    result = walk(problem, strat)
    rows = PlanRows(problem, result)
    assert list(rows) == plans
    assert [rows.cost(i).cost_ms for i in range(len(rows))] == costs
    assert (result.count, result.plans) == (walked.count, len(plans))
    assert result.unpriced == len(walked.plans) - len(plans)


@given(problems(), st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_walks_of_any_small_problem(problem: PlanProblem, strat: bool) -> None:
    try:
        assert_the_walk_is_the_oracle_s(problem, strat)
    except oracle.NeverEnds:
        with pytest.raises(InputError, match="never ends"):
            walk(problem, strat)
    except KeyError as missing:
        (key,) = missing.args
        with pytest.raises(InputError, match=f"no profile of {key}, which the walk asks for"):
            walk(problem, strat)
