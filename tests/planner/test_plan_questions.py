"""Subsets, prices, growth, failures and the front, on plans whose times are known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from step_problems import step_problem

from dse.base.errors import InputError
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import (
    ClusterPlan,
    PlanCost,
    PlanProblem,
    PlanResult,
    Profile,
    ProfileKey,
    ProfileSet,
    StageCost,
)
from dse.planner.problem.ranks import first_ranks, stage_spans, stage_types
from dse.planner.questions import front, growth, price_ranges, replan, solve_subsets
from dse.planner.questions.failures import Shard, holdings, moved_bytes
from dse.planner.questions.subsets import node_kinds, subsets
from dse.planner.questions.text import growth_entries, growth_text, price_entries, prices_text

SPEED = {"A": 4.0, "V": 1.0}
HOSTS = (*[Host(f"v{i}", "V", 2, 10, 1) for i in range(4)], *[Host(f"a{i}", "A", 2, 20, 2) for i in range(3)])
CLUSTER = MixedCluster(HOSTS, {"V": 16.0, "A": 80.0}, {"V": 1.0, "A": 3.0})
PROFILE = Profile((1.0,) * 4, (1.0,) * 4, 0.0, 0.0, 0.0)
PROBLEM = PlanProblem(
    CLUSTER,
    ProfileSet({ProfileKey("V", 1, 1): PROFILE}, ProfileKey("V", 1, 1), (8.0,) * 4),
    ("V", "A"),
    gbs=8,
)


def solve(problem: PlanProblem) -> PlanResult:
    """A plan with one stage a type; a step takes 1000 ms over the sum of speeds, 5 % more for two types."""
    cluster = problem.cluster
    speed = sum(SPEED[host.type] * host.gpus for host in cluster.hosts)
    cost_ms = 1000 / speed * (1.05 if len(cluster.types) > 1 else 1)
    types = tuple(problem.type_order)
    groups = tuple(cluster.gpus_of(type_) for type_ in types)
    bounds = (0, 4) if len(types) == 1 else (0, 1, 4)
    plan = ClusterPlan(types, groups, tuple((gpus, 1) for gpus in groups), 2, bounds, len(groups))
    slower = replace(plan, strategies=tuple((gpus // 2, 2) for gpus in groups))
    memory = tuple((2.0**30,) * gpus for gpus in groups)
    stages = tuple(StageCost(1.0, 0.0, 0.0, 0.0, own) for own in memory)
    cost = PlanCost(cost_ms, stages, 0.0, 0.0)
    ranking = ((cost_ms, plan), (1.04 * cost_ms, slower))
    return PlanResult("known", "strict", None, 2, plan, cost, cost_ms, True, 0.0, ranking)


def test_subsets_double() -> None:
    assert [tuple(nodes.values()) for nodes in subsets(PROBLEM, every=False)] == [
        (v, a) for v in (0, 1, 2, 4) for a in (0, 1, 2, 3) if v or a
    ]
    assert len(subsets(PROBLEM, every=True)) == 5 * 4 - 1


def test_kinds_of_one_type_are_numbered() -> None:
    hosts = (Host("a", "A", 2, 20, 2), Host("b", "A", 4, 20, 2), Host("c", "V", 2, 10, 1))
    kinds = node_kinds(MixedCluster(hosts, CLUSTER.memory_gib))
    assert list(kinds) == ["A/0", "A/1", "V"]


def test_a_subset_has_the_types_of_its_nodes_only() -> None:
    found = solve_subsets(PROBLEM, solve)
    only_a = next(one for one in found if dict(one.nodes) == {"V": 0, "A": 2})
    assert only_a.problem.type_order == ("A",)
    assert only_a.step_ms == pytest.approx(1000 / 16)
    assert (only_a.price_per_hour, only_a.memory_share) == (12.0, 1 / 80)
    assert only_a.price_per_step == pytest.approx(12 * 62.5 / 3.6e6)


def test_the_cheapest_subset_changes_at_one_price_of_a_type() -> None:
    """A step on V alone costs price / 1 a GPU, on A alone 3 / 4: V wins below 0.75."""
    ranges = price_ranges(solve_subsets(PROBLEM, solve), "V")
    assert [(dict(one.subset.nodes)["A"] == 0, one.start, one.end) for one in ranges] == [
        (True, 0.0, pytest.approx(0.75)),
        (False, pytest.approx(0.75), math.inf),
    ]
    assert [one.slope > 0 for one in ranges] == [True, False]
    assert ranges[1].price_per_step == pytest.approx(1000 / 4 * 3 / 3.6e6)


@pytest.mark.parametrize("type_", ["V", "A"])
@pytest.mark.parametrize("price", [0.0, 0.3, 0.7, 0.8, 3.0, 50.0])
def test_no_subset_is_cheaper_than_the_envelope(type_: str, price: float) -> None:
    found = solve_subsets(PROBLEM, solve)
    one = next(own for own in price_ranges(found, type_) if own.start <= price < own.end)
    cheapest = min(
        (own.step_ms or 0)
        * sum(n * (price if kind == type_ else CLUSTER.price_per_hour[kind]) for kind, n in own.gpus.items())
        for own in found
    )
    assert one.price_per_step + one.slope * (price - one.start) == pytest.approx(cheapest / 3.6e6)


def test_unknown_prices_are_refused() -> None:
    unpriced = replace(PROBLEM, cluster=replace(CLUSTER, price_per_hour={}))
    with pytest.raises(InputError, match="prices are unknown; write prices="):
        price_ranges(solve_subsets(unpriced, solve), "V")


def test_the_front_leaves_out_what_another_beats() -> None:
    found = front(solve_subsets(PROBLEM, solve))
    values = [(one.step_ms or 0, one.price_per_hour or 0) for one in found]
    assert values == sorted(values)
    assert next(dict(one.nodes) for one in found if one.gpus.keys() == {"V", "A"}) == {"V": 4, "A": 3}
    assert {"V": 0, "A": 3} in [dict(one.nodes) for one in found]
    # 4 V (8 GPUs at 1) are as fast as 1 A (2 GPUs at 3), and dearer; memory is what keeps them.
    assert [one.memory_share for one in found if one.gpus.keys() == {"A"}] == [1 / 80] * 3


def test_growth_says_what_a_node_saves() -> None:
    base = solve(PROBLEM)
    v1, a1, a2 = (
        growth(PROBLEM, base, solve, [kind], [count])[0] for kind, count in (("V", 1), ("A", 1), ("A", 2))
    )
    assert v1.gain == pytest.approx(1 - 32 / 34)
    assert a1.gain == pytest.approx(1 - 32 / 40)
    assert a2.gain == pytest.approx(1 - 32 / 48)
    assert [host.address for host in a2.problem.cluster.hosts][-2:] == ["new-a-0", "new-a-1"]


def test_new_nodes_that_the_plan_leaves_idle_gain_nothing() -> None:
    """A search that ended early finds a better plan of the old nodes where it has more of them."""
    base = solve(PROBLEM)
    assert base.best is not None
    assert base.cost is not None
    plan, cost = replace(base.best, starts=(0, 10)), replace(base.cost, cost_ms=0.9 * base.cost.cost_ms)
    better = replace(base, best=plan, cost=cost)
    found = growth(PROBLEM, base, lambda _: better, ["V"], [1])
    assert [one.gain for one in found] == [0.0]
    (row,) = growth_text(growth_entries(found), base.cost.cost_ms).splitlines()[2:]
    assert "0.00  leave them idle" in row


def test_of_subsets_that_cost_the_same_at_all_prices_the_fastest_is_named() -> None:
    free = replace(PROBLEM, cluster=replace(CLUSTER, price_per_hour={"V": 0.0, "A": 3.0}))
    (only,) = price_ranges([one for one in solve_subsets(free, solve) if "A" not in one.gpus], "A")
    assert dict(only.subset.nodes) == {"V": 4, "A": 0}


def test_prices_say_how_far_plans_may_be_from_the_best() -> None:
    found = solve_subsets(PROBLEM, lambda problem: replace(solve(problem), bound_ms=20.0, optimal=False))
    header, row, *_ = prices_text(price_entries(price_ranges(found, "V"))).splitlines()
    assert "% above bound" in header
    assert "525.00" in row  # 4 V: 125 ms above 20 ms


def test_shards_that_stay_are_not_moved() -> None:
    held = {(0, 0): [Shard(0, 2, 0, 2)]}
    assert moved_bytes(PROBLEM, {(0, 0): [Shard(0, 2, 0, 2)]}, held) == 0
    assert moved_bytes(PROBLEM, {(0, 0): [Shard(0, 2, 0, 1)]}, held) == 8  # the other half of two layers
    assert moved_bytes(PROBLEM, {(0, 0): [Shard(1, 4, 0, 2)]}, held) == 8  # halves of two layers more
    assert moved_bytes(PROBLEM, {(0, 0): [Shard(0, 2, 1, 2)]}, held) == 8
    assert moved_bytes(PROBLEM, {(0, 1): [Shard(0, 4, 0, 1)]}, held) == 32


def test_holdings_follow_ranks_over_hosts() -> None:
    plan = ClusterPlan(("A", "V"), (4, 2, 8), ((2, 2), (1, 2), (8, 1)), 1, (0, 1, 2, 4), 3)
    assert [dict(own) for own in stage_types(CLUSTER, plan)] == [{"A": 4}, {"A": 2}, {"V": 8}]
    assert first_ranks(plan) == [0, 4, 6]
    assert [[span.host for span in own] for own in stage_spans(CLUSTER, plan)] == [[4, 5], [6], [0, 1, 2, 3]]
    found = holdings(PROBLEM, plan, range(7))
    assert found[4, 1] == [Shard(0, 1, 1, 2)]
    assert found[6, 0] == [Shard(1, 2, 0, 2)]
    assert found[3, 1] == [Shard(2, 4, 0, 1)]


def one_stage(gpus: int, tp: int, way: str) -> ClusterPlan:
    return ClusterPlan(("H100",), (gpus,), ((gpus // tp, tp),), 1, (0, 4), 1, ways=(way,), starts=(0,))


def test_experts_and_sharded_weights_are_held_in_parts() -> None:
    """A layer of Mixtral has 2.8 GB of experts; all else of two layers and both tables take .7 GB."""
    one = ("cluster=h100_a100", "cluster.nodes.0.count=1", "cluster.nodes.1.count=1")
    problem = step_problem(*one, "model=mixtral_8x7b", "model.num_layers=2", gbs="8")
    experts = 2 * 2 * 8 * 3 * 4096 * 14336
    rest = sum(problem.profiles.parameters_bytes) - experts
    moved = {
        way: moved_bytes(problem, holdings(problem, one_stage(8, tp, way), range(2)), {})
        for tp, way in (
            (1, ""),
            (1, "ep=8"),
            (2, "tp=2 ep=4 expert_tp=1"),
            (1, "zero=3 weight_sharded=true"),
            (2, "tp=2 ep=2 expert_tp=1 weight_sharded=true"),
        )
    }
    assert list(moved.values()) == [
        pytest.approx(8 * (rest + experts)),
        pytest.approx(8 * rest + experts),
        pytest.approx(4 * rest + 2 * experts),
        pytest.approx(rest + experts),
        pytest.approx(rest + experts),
    ]


def test_interleaved_stages_hold_a_range_of_layers_for_each_chunk() -> None:
    problem = step_problem("cluster=dgx_h100", "model=llama3_8b", "model.num_layers=8", gbs="64")
    (name,) = problem.type_order
    way = "pp=2 chunks=2 schedule=interleaved"
    plan = ClusterPlan((name,), (1, 1), ((1, 1),) * 2, 64, (0, 5, 10), 2, ways=(way,) * 2, starts=(0, 1))
    assert holdings(problem, plan, range(8)) == {
        (0, 0): [Shard(0, 3, 0, 1), Shard(5, 7, 0, 1)],
        (0, 1): [Shard(3, 5, 0, 1), Shard(7, 10, 0, 1)],
    }


def test_a_failure_is_answered_by_the_fastest_plan_and_by_one_that_keeps_weights() -> None:
    before = solve(PROBLEM)
    found = replan(PROBLEM, before, solve, 0, slack=0.05)
    assert found.fastest is not None
    assert found.nearest is not None
    assert list(found.fastest.hosts) == [1, 2, 3, 4, 5, 6]
    assert found.fastest.cost_ms == pytest.approx(1050 / 30)
    assert found.nearest.moved_bytes <= found.fastest.moved_bytes
    # Stages keep their layers: what is left holds all it needs.
    assert found.fastest.moved_bytes == 0
    assert found.weights_bytes == 6 * 8 + 6 * 24


def test_nodes_that_hold_others_back_stay_idle_after_a_failure() -> None:
    """A step takes 1000 ms over the GPUs x the speed of the slowest of them."""

    def held_back(problem: PlanProblem) -> PlanResult:
        slowest = min(SPEED[host.type] for host in problem.cluster.hosts)
        cost_ms = 1000 / (slowest * problem.cluster.gpus)
        return replace(solve(problem), ranking=((cost_ms, solve(problem).ranking[0][1]),))

    found = replan(PROBLEM, solve(PROBLEM), held_back, 6)
    assert found.fastest is not None
    assert list(found.fastest.hosts) == [4, 5]
    assert found.fastest.cost_ms == 1000 / (4 * 4)


def test_a_failure_of_the_only_host_is_refused() -> None:
    alone = replace(PROBLEM, cluster=replace(CLUSTER, hosts=HOSTS[:1]), type_order=("V",))
    with pytest.raises(InputError, match="the cluster has one host"):
        replan(alone, solve(alone), solve, 0)
