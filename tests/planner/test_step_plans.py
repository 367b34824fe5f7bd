"""Plans priced by the model of a step: proven against enumeration, never slower than sweeps."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from step_problems import small_step_problems, step_problem

from dse.base.solvers import StepQuestion
from dse.inputs.accelerators import TierSpec, accelerator, cluster
from dse.planner.files.documents import plan_to_dict
from dse.planner.files.records import document
from dse.planner.problem.costs.rule import Infeasible
from dse.planner.problem.costs.step import StepRule
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.problem.ranks import stage_spans
from dse.planner.problem.steps import StepInputs, StepType, way_of, way_words
from dse.planner.proofs.certificate import digest
from dse.planner.proofs.check import check_document
from dse.planner.questions.failures import replan
from dse.planner.search import by_steps
from dse.planner.search.automatic import solve
from dse.planner.search.planner import Limits
from dse.prediction.steps.native_inputs import cluster_record, model_record
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import predict
from dse.studies.composed import model_of, system_of

IS_NIGHTLY = "DSE_NIGHTLY" in os.environ
CASES = 500 if IS_NIGHTLY else 60
QUESTIONS = 60 if IS_NIGHTLY else 6


def random_inputs(random: Random) -> StepInputs:
    """A few layers on nodes of one or two types, with little memory in some cases."""
    model = replace(
        model_of(["model=llama3_8b"]),
        num_layers=random.choice([2, 3, 4]),
        batch_size=random.choice([4, 8, 12, 16]),
        seq_len=random.choice([2048, 8192]),
    )
    names = random.sample(["h100_sxm", "a100_80", "v100_32", "l40s"], random.choice([1, 2, 2]))
    precision = "fp16" if "v100_32" in names else "bf16"
    zeros = random.choice([(0, 1), (1, 3), (1,)])
    ways = tuple(
        way_words(
            Plan(
                tp=tp,
                recompute=recompute,
                zero=min(zero, 1),
                weight_sharded=zero == 3,
                sequence_parallel=tp > 1,
                precision=precision,
            )
        )
        for tp in (1, 2)
        for recompute in ("none", "full")
        for zero in zeros
    )
    types = []
    for name in names:
        node, nodes = random.choice([2, 4]), random.choice([1, 1, 2])
        tiers = [
            TierSpec("node", 2.0, bandwidth_gbps=random.choice([50, 300])),
            TierSpec("nodes", 5.0, bandwidth_gbps=random.choice([5, 25, 50])),
        ]
        found = accelerator(name, "accelerator")
        links = cluster(name, found, max(2, nodes), node, tiers)
        memory = found.usable_memory_bytes * random.choice([0.1, 0.25, 0.6, 1])
        types.append(StepType(name, json.dumps(cluster_record(links)), node * nodes, node, memory, ways))
    between = (0.0,) * len(types) ** 2
    return StepInputs(json.dumps(model_record(model)), model.num_layers, tuple(types), between, 8)


def several_stages_of_best_plans(seed: int, *, is_uniform: bool) -> int:
    """The questions whose best plan has several stages; each search finds what its enumeration finds."""
    random, of_several_stages = Random(seed), 0
    for case in range(CASES):
        question = replace(random_inputs(random), is_uniform=is_uniform).question()
        plans, bound_s, complete, *_ = question.search(float("inf"), 0.0, 10**9, 5, None, None)
        least_s, (_, _, stages), count = question.enumerate()
        assert complete, case
        if not count:
            assert not plans, case
            continue
        assert plans[0][0] == pytest.approx(least_s, rel=1e-9), case
        assert bound_s <= least_s * (1 + 1e-9), case
        of_several_stages += len(stages) > 1
    return of_several_stages


def test_the_exact_search_finds_what_enumeration_finds() -> None:
    assert several_stages_of_best_plans(41, is_uniform=False) > CASES // 10


def test_the_search_of_equal_stages_finds_what_enumeration_finds() -> None:
    assert several_stages_of_best_plans(61, is_uniform=True) > CASES // 20


@pytest.mark.parametrize("gap", [0.0, 0.01, 0.1])
def test_no_bound_of_tables_alone_is_above_what_enumeration_finds(gap: float) -> None:
    random = Random(977)
    for case in range(CASES // 3):
        question = random_inputs(random).question()
        least_s, _, count = question.enumerate()
        _, bound_s, *_ = question.search(float("inf"), gap, 0, 1, None, None)
        assert not count or bound_s <= least_s * (1 + 1e-9), case


@pytest.mark.parametrize(("nodes", "layers"), [(2, 4), (3, 6)])
def test_tables_know_that_long_pipelines_send_between_nodes(nodes: int, layers: int) -> None:
    """Nodes of two GPUs at 1 GB/s and a batch of seven, which no two replicas share: one GPU is a stage."""
    model = replace(model_of(["model=llama3_8b"]), num_layers=layers, batch_size=7, seq_len=2048)
    found = accelerator("h100_sxm", "accelerator")
    tiers = [TierSpec("node", 2.0, bandwidth_gbps=300), TierSpec("nodes", 5.0, bandwidth_gbps=1)]
    links = json.dumps(cluster_record(cluster("h100", found, nodes, 2, tiers)))
    ways = (way_words(Plan(precision="bf16")),)
    type_ = StepType("h100", links, 2 * nodes, 2, found.usable_memory_bytes, ways)
    question = StepInputs(json.dumps(model_record(model)), layers, (type_,), (0.0,), 1).question()
    least_s, (_, _, stages), _ = question.enumerate()
    _, bound_s, *_ = question.search(float("inf"), 0.0, 0, 1, None, None)
    assert len(stages) == 2
    assert 0.999 * least_s < bound_s <= least_s


def test_a_search_without_time_has_a_bound_and_begins_no_plan() -> None:
    random, bounded = Random(5), 0
    for case in range(10):
        question = random_inputs(random).question()
        least_s, _, count = question.enumerate()
        plans, bound_s, complete, priced, labels, _ = question.search(float("inf"), 0.0, 10**9, 1, 0.0, None)
        assert (plans, complete, priced, labels) == ([], False, 0, 0) or bound_s == float("inf"), case
        assert not count or 0 < bound_s <= least_s, case
        bounded += bound_s < float("inf")
    assert bounded > 5


def test_plans_of_equal_stages_have_a_bound_without_time() -> None:
    nodes = ("cluster.nodes.0.count=1", "cluster.nodes.1.count=1")
    problem = step_problem(
        "cluster=h100_a100", *nodes, "model=llama3_8b", "model.num_layers=4", gbs="16", uniform="true"
    )
    result = solve("fast", problem, "step", Limits(keep=1, time_limit_s=0.0))
    assert result.bound_ms is not None
    assert not result.optimal
    complete = solve("fast", problem, "step", Limits(keep=1))
    assert complete.cost is not None
    assert 0 < result.bound_ms <= complete.cost.cost_ms


def sweeps_best_s(problem: PlanProblem) -> float:
    """The fastest plan of the sweep over the only type that fits its memory."""
    assert problem.steps is not None
    (type_,) = problem.steps.types
    steps_s, memory = problem.steps.predicted(type_, type_.uniform)
    return float(np.min(steps_s[memory <= type_.memory_bytes], initial=np.inf))


@pytest.mark.parametrize(
    ("words", "gbs", "most_s"),
    [
        (("cluster=dgx_h100", "model=llama3_70b"), "512", 54.72),
        (("cluster=dgx_a100", "cluster.nodes.0.count=4", "model=llama3_70b"), "128", 80.94),
    ],
)
def test_no_sweep_beats_a_plan_on_the_clusters_where_they_contradicted(
    words: tuple[str, ...], gbs: str, most_s: float
) -> None:
    problem = step_problem(*words, gbs=gbs)
    result = solve("auto", problem, "step", Limits(keep=1))
    assert result.cost is not None
    assert result.cost.cost_ms <= 1000 * sweeps_best_s(problem) * (1 + 1e-12)
    assert result.cost.cost_ms < 1000 * most_s


@pytest.mark.parametrize("gpus", [8, 16, 64])
def test_a_sweep_over_the_nodes_of_a_type_is_predicted_on_their_links(gpus: int) -> None:
    nodes = gpus // 8
    problem = step_problem("cluster=dgx_h100", f"cluster.nodes.0.count={nodes}", "model=llama3_8b", gbs="64")
    assert problem.steps is not None
    (type_,) = problem.steps.types
    links = system_of(["system=dgx_h100", f"system.nodes={nodes}"]).cluster
    assert links is not None
    model = replace(model_of(["model=llama3_8b"]), batch_size=64)
    plans = type_.uniform[:50]
    steps_s, _ = problem.steps.predicted(type_, plans)
    expected = [predict(model, plan, links).step_s for plan in plans]
    assert steps_s.tolist() == pytest.approx(expected, rel=1e-12)


def test_plans_are_never_slower_than_sweeps_on_random_homogeneous_clusters() -> None:
    random, as_fast = Random(7), 0
    for number in range(QUESTIONS):
        words = (
            f"cluster={random.choice(['dgx_h100', 'dgx_a100', 'dgx_b200', 'dgx_v100'])}",
            f"cluster.nodes.0.count={random.choice([1, 2, 4, 8])}",
            f"model={random.choice(['llama3_8b', 'qwen3_8b', 'megatron_22b', 'mixtral_8x7b'])}",
        )
        problem = step_problem(*words, gbs=str(random.choice([64, 128, 256])))
        result = solve("auto", problem, "step", Limits(keep=1, time_limit_s=20))
        least_s = sweeps_best_s(problem)
        if result.cost is None:
            assert least_s == np.inf, number
            continue
        assert result.cost.cost_ms <= 1000 * least_s * (1 + 1e-12), (number, words)
        as_fast += result.cost.cost_ms >= 1000 * least_s * (1 - 1e-12)
    assert as_fast < QUESTIONS or not IS_NIGHTLY


def test_a_fifth_node_leaves_the_plans_of_four() -> None:
    """No plan of experts over four nodes has degrees that divide the GPUs of five."""
    four, five = (
        solve(
            "exact",
            step_problem(
                "cluster=dgx_h100",
                f"cluster.nodes.0.count={nodes}",
                "model=glm_4_5_air",
                "model.num_layers=4",
                gbs="64",
            ),
            "step",
            Limits(keep=1),
        )
        for nodes in (4, 5)
    )
    assert four.cost is not None
    assert five.cost is not None
    assert five.optimal
    assert five.cost.cost_ms <= four.cost.cost_ms
    assert [cost_ms for cost_ms, _ in five.homogeneous] == [cost_ms for cost_ms, _ in four.homogeneous]


def test_a_fourth_node_leaves_the_ways_of_three() -> None:
    """48 sequences fill 24 GPUs in one stage without tensor groups, but not 32: dp 32 does not divide 48."""
    words = ("cluster=gaudi3_server", "model=mixtral_8x7b", "model.seq_len=1024", "model.num_layers=8")
    three, four = (step_problem(*words, f"cluster.nodes.0.count={nodes}", gbs="48").steps for nodes in (3, 4))
    assert three is not None
    assert four is not None
    assert "ep=8 expert_tp=1 zero=2 framework=megatron-bridge dispatcher=deduplicated overlap_ep=true" in (
        three.types[0].ways
    )
    assert set(three.types[0].ways) <= set(four.types[0].ways)
    best = [
        steps.question().search(float("inf"), 0.0, 10**6, 1, None, None)[0][0][0] for steps in (three, four)
    ]
    assert best[1] <= best[0]


def test_no_tensor_group_lies_on_two_nodes_of_unequal_size(tmp_path: Path) -> None:
    """Steps take a node of twelve GPUs for one of eight: four of them stay idle."""
    path = tmp_path / "odd.yaml"
    nodes = [f"{{accelerator: h100_sxm, count: 1, gpus: {gpus}}}" for gpus in (12, 8)]
    nodes.append("{accelerator: a100_80, count: 1, gpus: 8}")
    links = "intra_gbps: 450, inter_gbps: 400}"
    path.write_text("name: odd\nnodes:\n" + "".join(f"  - {node[:-1]}, {links}\n" for node in nodes))
    problem = step_problem(f"cluster={path}", "model=llama3_8b", "model.num_layers=8", gbs="8")
    first, second, third = (
        ClusterPlan(problem.type_order, (8,), ((1, 8),), 8, (0, 10), 1, ways=("tp=8",), starts=(start,))
        for start in (0, 8, 16)
    )
    places = [stage_spans(problem.cluster, plan) for plan in (first, second, third)]
    assert places == [[[(0, 0, 8)]], [[(1, 0, 8)]], [[(2, 0, 8)]]]
    result = solve("exact", problem, "step", Limits(keep=20))
    ends = [stage_spans(problem.cluster, plan) for _, plan in result.ranking]
    assert all(len(stage) == 1 for plan in ends for stage in plan if sum(span.gpus for span in stage) <= 8)


def test_more_gpus_than_a_batch_can_fill_have_the_plans_of_fewer() -> None:
    """One sequence and four layers fill 64 GPUs at most: no sweep over 128 has a plan."""
    found = []
    for nodes in (8, 16):
        words = ("cluster=dgx_h100", f"cluster.nodes.0.count={nodes}", "model=llama3_8b")
        problem = step_problem(*words, "model.num_layers=4", gbs="1")
        result = solve("exact", problem, "step", Limits(keep=1))
        assert result.cost is not None
        found.append(result.cost.cost_ms)
    assert found[1] <= found[0]


def test_equal_stages_cost_what_a_sweep_predicts() -> None:
    problem = step_problem("cluster=dgx_h100", "model=llama3_8b", gbs="256")
    assert problem.steps is not None
    (type_,) = problem.steps.types
    model = replace(model_of(["model=llama3_8b"]), batch_size=256)
    links = step_cluster_of("dgx_h100")
    question, ways = problem.steps.question(is_bounded=False), problem.steps.plans[0]
    compared = 0
    for plan in type_.uniform:
        is_even = plan.pp == 1 or (plan.stages == "even" and model.num_layers % plan.pp == 0)
        if plan.chunks > 1 or not is_even:
            continue
        way = next(n for n, one in enumerate(ways) if one == way_of(way_words(layer(plan))))
        rounds, sequences = 256 // (plan.dp * plan.micro_batch), plan.dp * plan.micro_batch
        stages = [(0, way, plan.dp, model.num_layers // plan.pp)] * plan.pp
        found = question.price((rounds, sequences, stages))
        assert found is not None
        assert found[0] == pytest.approx(predict(model, plan, links).step_s, rel=1e-12)
        compared += 1
    assert compared > 100


def layer(plan: Plan) -> Plan:
    from dse.planner.problem.steps import layer_way

    return layer_way(plan)


def step_cluster_of(name: str):  # type: ignore[no-untyped-def]  # a Cluster, which is never None here
    return system_of([f"system={name}"]).cluster


def test_parts_make_up_the_step_where_chunks_hide_exchanges_of_experts() -> None:
    problem = step_problem("cluster=dgx_h100", "model=glm_4_5_air", "model.num_layers=8", gbs="64")
    assert problem.steps is not None
    rule, (type_,) = StepRule(problem), problem.steps.types
    hidden = 0
    for plan in type_.uniform:
        if plan.chunks == 1 or not plan.overlap_ep:
            continue
        uniform = by_steps._uniform_plan(problem, problem.steps, type_, plan)
        assert uniform.partition[-1] == problem.layers == 8 + 1 + 2  # one predicts further tokens; the ends
        try:
            cost = rule.price(uniform)
        except Infeasible:
            continue
        assert sum(part_ms for _, part_ms in cost.parts) == pytest.approx(cost.cost_ms)
        assert min(part_ms for _, part_ms in cost.parts) >= 0
        hidden += 1
    assert hidden > 10


@pytest.mark.parametrize("number", [0, 1, 2])
def test_forged_certificates_are_rejected(number: int) -> None:
    problem = small_step_problems()[number]
    result = solve("exact", problem, "step", Limits(keep=2))
    data = json.loads(json.dumps(document(problem, result, {})))
    assert check_document(data).valid, check_document(data).lines
    slower = next(plan for cost_ms, plan in result.ranking if cost_ms > result.ranking[0][0])
    forged = {**data, "plan": plan_to_dict(slower)}
    assert any("cost.cost_ms" in line for line in check_document(sealed(forged)).lines)
    (cheaper := json.loads(json.dumps(data)))["cost"]["cost_ms"] *= 0.9
    assert not check_document(sealed(cheaper)).valid


def test_a_bound_that_the_search_does_not_show_is_rejected() -> None:
    problem = small_step_problems()[1]
    result = solve("exact", problem, "step", Limits(keep=8))
    slow_ms, slow = result.ranking[-1]
    assert slow_ms > result.ranking[0][0]
    from dse.planner.problem.costs import price

    cost = price(problem, slow, "step")
    from dse.planner.proofs.certificate import step_certificate

    claimed = step_certificate(problem, slow, cost, cost.cost_ms, 0, 0)
    forged = replace(
        result, best=slow, cost=cost, bound_ms=cost.cost_ms, ranking=((slow_ms, slow),), certificate=claimed
    )
    lines = check_document(json.loads(json.dumps(document(problem, forged, {})))).lines
    assert any("can be shown" in line for line in lines), lines


def sealed(data: dict[str, object]) -> dict[str, object]:
    certificate = data["certificate"]
    assert isinstance(certificate, dict)
    return {**data, "certificate": {**certificate, "sha256": digest(data)}}


def test_a_plan_for_512_gpus_of_two_types_is_within_1_percent_of_its_bound_after_50_000_labels() -> None:
    words = ("cluster=h100_a100", "cluster.nodes.0.count=32", "cluster.nodes.1.count=32", "model=llama3_70b")
    problem = step_problem(*words, gbs="512")
    assert problem.steps is not None
    plans, bound_s, _, _, labels, _ = problem.steps.question().search(float("inf"), 0.01, 0, 1, None, None)
    assert plans[0][0] <= 1.01 * bound_s * (1 + 1e-9)
    assert labels < 50_000


def test_a_plan_for_256_gpus_of_four_types_is_within_2_5_percent_after_50_million_labels() -> None:
    words = ("cluster=four_generations_4k", *(f"cluster.nodes.{number}.count=8" for number in range(4)))
    problem = step_problem(*words, "model=gpt175b", gbs="256")
    assert problem.steps is not None
    plans, bound_s, _, _, labels, _ = problem.steps.question().search(float("inf"), 0.025, 0, 1, None, None)
    assert plans[0][0] <= 1.025 * bound_s * (1 + 1e-9)
    assert labels < 50_000_000


def test_equal_stages_of_experts_on_512_gpus_are_proven_the_fastest_without_a_limit() -> None:
    words = ("cluster=dgx_h100", "cluster.nodes.0.count=64", "model=deepseek_v3")
    problem = step_problem(*words, gbs="2048", uniform="true")
    assert problem.steps is not None
    known_s = sweeps_best_s(problem)
    _, bound_s, complete, _, labels, _ = problem.steps.question().search(known_s, 0.0, 300_000, 1, None, None)
    assert complete
    assert bound_s == pytest.approx(10.956938704536988, rel=1e-9)
    assert labels < 1_000_000


def test_equal_stages_of_a_batch_that_no_sweep_divides_are_proven_the_fastest() -> None:
    words = ("cluster=dgx_a100", "cluster.nodes.0.count=16", "model=megatron_76b")
    problem = step_problem(*words, gbs="36", max_tp="2", launchable="deepspeed")
    assert problem.steps is not None
    assert not problem.steps.types[0].uniform
    search = problem.steps.question().search
    _, bound_s, complete, _, labels, _ = search(float("inf"), 0.0, 300_000, 1, None, None)
    assert complete
    assert bound_s == pytest.approx(5.095935865574445, rel=1e-9)
    assert labels < 1_000_000


def test_after_a_failure_of_one_of_20_nodes_no_other_idles(tmp_path: Path) -> None:
    file = tmp_path / "c20.yaml"
    file.write_text("nodes:\n  - {system: dgx_h100, count: 20}\n", encoding="utf-8")
    problem = step_problem(f"cluster={file}", "model=llama3_8b", gbs="1024")

    def plan(own: PlanProblem):  # type: ignore[no-untyped-def]
        return solve("auto", own, "step", Limits(keep=1))

    found = replan(problem, plan(problem), plan, 3)
    assert found.fastest is not None
    assert sum(found.fastest.plan.groups) == 19 * 8


def test_stages_that_are_alike_are_never_faster_than_any() -> None:
    words = ("cluster=h100_a100", "cluster.nodes.0.count=1", "cluster.nodes.1.count=2", "model=llama3_8b")
    free, alike = (
        solve("exact", step_problem(*words, gbs="32", uniform=word), "step", Limits(keep=1))
        for word in ("false", "true")
    )
    assert free.cost is not None
    assert alike.cost is not None
    assert alike.best is not None
    assert free.cost.cost_ms <= alike.cost.cost_ms * (1 + 1e-12)
    assert len(set(zip(alike.best.groups, alike.best.strategies, strict=True))) == 1


class Ended:
    """A question whose search ends as after Ctrl-C."""

    def __init__(self, question: StepQuestion) -> None:
        self.question = question

    def search(self, *words: Any) -> tuple[Any, ...]:
        most_s, gap, nodes, keep, _, cancellation = words
        return *self.question.search(most_s, gap, nodes, keep, 0.0, cancellation)[:-1], True


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_bound_covers_the_equal_stages_that_a_search_leaves(
    is_interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("cluster=h100_a100", "cluster.nodes.0.count=1", "cluster.nodes.1.count=2", "model=llama3_8b")
    problem = step_problem(*words, gbs="32", uniform="true")
    proven = solve("exact", problem, "step", Limits(keep=1))
    question = StepInputs.question

    def ended(inputs: StepInputs, *, is_bounded: bool = True):  # type: ignore[no-untyped-def]
        own = question(inputs, is_bounded=is_bounded)
        return Ended(own) if is_interrupted and is_bounded else own

    monkeypatch.setattr(StepInputs, "question", ended)
    limit_s = None if is_interrupted else 1e-9
    found = solve("exact", problem, "step", Limits(keep=1, time_limit_s=limit_s))
    assert not found.optimal
    assert proven.cost is not None
    assert found.bound_ms is not None
    assert 0 < found.bound_ms <= proven.cost.cost_ms
