"""Certificates are accepted as they were made, and rejected when they, or their plans, are changed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from golden_rows import row_problem
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_problems import small_problem

from dse.planner.files.documents import (
    cost_to_dict,
    plan_from_dict,
    plan_to_dict,
    problem_from_dict,
    problem_to_dict,
)
from dse.planner.problem.costs import price
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.proofs.certificate import digest
from dse.planner.proofs.check import check_plan
from dse.planner.proofs.duals import covers
from dse.planner.proofs.steps import Region
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.planners.anytime import AnytimePlanner
from dse.planner.search.planners.exact import ExactPlanner
from tests.references.enumerate_plans import EnumeratePlanner
from tests.references.plan_documents import plan_document

SEEDS = st.integers(0, 10**9)
KINDS = st.sampled_from(["compat", "strict", "dual"])
FEASIBLE = {"compat": (6, 8, 11), "strict": (1, 45, 58), "dual": (1, 45, 58)}


def document_of(problem: PlanProblem, result: PlanResult) -> Any:
    """Return the document as it comes back from JSON."""
    assert result.best is not None
    assert result.cost is not None
    assert result.certificate is not None
    return json.loads(json.dumps(plan_document(problem, result.best, result.cost, result.certificate)))


def planner_of(kind: str) -> Planner:
    return AnytimePlanner() if kind == "dual" else ExactPlanner()


@lru_cache
def made(kind: str, seed: int) -> Any:
    problem = small_problem(seed, kind == "compat")
    cost_model = "compat" if kind == "compat" else "strict"
    result = planner_of(kind).plan(problem, cost_model, Limits())
    return document_of(problem, result) if result.best else None


def resealed(document: Any) -> Any:
    """Return the document with the digest that someone would make who changed it on purpose."""
    document["certificate"]["sha256"] = digest(document)
    return document


def numbers_in(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(part, dict):
        return [found for key, value in part.items() for found in numbers_in(value, (*path, key))]
    if isinstance(part, list):
        return [found for i, value in enumerate(part) for found in numbers_in(value, (*path, i))]
    return [path] if isinstance(part, (int, float)) and not isinstance(part, bool) else []


@settings(max_examples=120, deadline=None)
@given(SEEDS, KINDS)
@example(1010, "dual")  # mixed groups with the same GPUs at several places, of which one ends the plan
def test_certificates_of_random_problems_are_accepted(seed: int, kind: str) -> None:
    document = made.__wrapped__(kind, seed)
    if document is not None:
        assert check_plan(document).lines == ()


@pytest.mark.parametrize("mixed", [True, False])
def test_the_certificate_of_the_first_row_is_proven(mixed: bool) -> None:
    problem = row_problem(1, mixed)
    verdict = check_plan(document_of(problem, ExactPlanner().plan(problem, "compat", Limits())))
    assert verdict.lines == ()
    assert verdict.valid
    assert verdict.blocks == 64
    assert verdict.plans == (22956462 if mixed else 20117868)


@settings(max_examples=150, deadline=None)
@given(KINDS, st.integers(0, 2), SEEDS)
def test_any_changed_number_is_rejected(kind: str, which: int, seed: int) -> None:
    document = copy.deepcopy(made(kind, FEASIBLE[kind][which]))
    random = Random(seed)
    *path, last = random.choice(numbers_in(document))
    part = document
    for key in path:
        part = part[key]
    part[last] = part[last] + random.choice([1, -1, 0.5])
    assert not check_plan(document).valid


@settings(max_examples=60, deadline=None)
@given(KINDS, st.integers(0, 2), SEEDS)
def test_a_missing_part_is_rejected(kind: str, which: int, seed: int) -> None:
    document = copy.deepcopy(made(kind, FEASIBLE[kind][which]))
    part, random = document, Random(seed)
    while True:
        key = random.choice(list(part) if isinstance(part, dict) else list(range(len(part))))
        if not isinstance(part[key], (dict, list)) or not part[key] or random.random() < 0.2:
            break
        part = part[key]
    del part[key]
    verdict = check_plan(document)
    assert not verdict.valid
    assert all(verdict.lines)


@pytest.mark.parametrize("kind", ["compat", "strict"])
def test_a_missing_block_is_named_even_with_a_new_digest(kind: str) -> None:
    document = copy.deepcopy(made(kind, FEASIBLE[kind][0]))
    gone = document["certificate"]["blocks"].pop(1)
    verdict = check_plan(resealed(document))
    assert any(
        f"none for types {','.join(gone['types'])}, {gone['batches']} micro-batches" in line
        for line in verdict.lines
    )


def test_a_missing_box_leaves_plans_out_even_with_a_new_digest() -> None:
    document = copy.deepcopy(made("dual", 1))
    gone = document["certificate"]["boxes"].pop(0)
    verdict = check_plan(resealed(document))
    assert any(f"those of {gone['batches']} micro-batches leave out plans" in line for line in verdict.lines)


@pytest.mark.parametrize("kind", ["compat", "strict", "dual"])
def test_a_bound_above_what_can_be_proven_is_named_even_with_a_new_digest(kind: str) -> None:
    document = copy.deepcopy(made(kind, FEASIBLE[kind][0]))
    listed = document["certificate"]["boxes" if kind == "dual" else "blocks"]
    raised = [i for i, part in enumerate(listed) if part["bound_ms"] and part.get("outcome") != "searched"]
    listed[raised[0]]["bound_ms"] *= 100
    place = f"certificate.{'boxes' if kind == 'dual' else 'blocks'}[{raised[0]}].bound_ms"
    assert any(line.startswith(place) for line in check_plan(resealed(document)).lines)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["compat", "strict"]), SEEDS)
def test_a_plan_that_is_not_the_best_is_refuted(kind: str, seed: int) -> None:
    problem = small_problem(seed, kind == "compat")
    everything = planner_of(kind).plan(problem, kind, Limits(keep=5))
    if len(everything.ranking) < 2 or everything.ranking[1][0] <= everything.ranking[0][0] * 1.0001:
        return
    document = document_of(problem, everything)
    worse = everything.ranking[1][1]
    cost = price(problem, worse, kind)
    document["plan"], document["cost"] = plan_to_dict(worse), cost_to_dict(cost)
    certificate = document["certificate"]
    certificate["best_ms"] = certificate["bound_ms"] = cost.cost_ms
    for block in certificate["blocks"]:
        if block["bound_ms"] is not None:
            block["bound_ms"] = max(block["bound_ms"], cost.cost_ms)
    assert not check_plan(resealed(document)).valid


@settings(max_examples=50, deadline=None)
@given(SEEDS, st.booleans())
def test_problems_and_plans_come_back_from_json_to_the_bit(seed: int, compat: bool) -> None:
    problem = small_problem(seed, compat)
    back = problem_from_dict(json.loads(json.dumps(problem_to_dict(problem))))
    assert back == problem
    best = ExactPlanner().plan(problem, "compat" if compat else "strict", Limits(keep=1))
    if best.best is not None:
        document = document_of(problem, best)
        assert plan_from_dict(document["plan"]) == best.best


@settings(max_examples=30, deadline=None)
@given(SEEDS, st.sampled_from(["compat", "strict"]))
@example(6, "compat")
@example(1, "strict")
def test_enumeration_has_a_certificate_that_is_accepted(seed: int, cost_model: str) -> None:
    problem = small_problem(seed, cost_model == "compat")
    result = EnumeratePlanner().plan(problem, cost_model, Limits(keep=1))
    if result.best is None:
        return
    assert check_plan(document_of(problem, result)).lines == ()


def test_a_second_best_plan_of_an_enumeration_is_not_certified() -> None:
    problem = small_problem(1, compat=False)
    result = EnumeratePlanner().plan(problem, "strict", Limits(keep=2))
    second = result.ranking[1][1]
    cost = price(problem, second, "strict")
    assert result.cost is not None
    assert cost.cost_ms > result.cost.cost_ms
    document = resealed(document_of(problem, replace(result, best=second, cost=cost)))
    certificate = document["certificate"]
    certificate["best_ms"] = certificate["bound_ms"] = cost.cost_ms
    for block in certificate["blocks"]:
        block["bound_ms"] = cost.cost_ms
    assert any("but a plan of the block costs" in line for line in check_plan(resealed(document)).lines)


def strained(seed: int) -> PlanProblem:
    """Return a small problem with links down to 1e-9 GB/s, or with gaps far below 0."""
    problem, random = small_problem(seed, compat=False), Random(seed)
    hosts = tuple(
        replace(host, intra_gbps=random.choice([1e-6, 1e-9, 25.0]), inter_gbps=random.choice([1e-7, 25.0]))
        for host in problem.cluster.hosts
    )
    if seed % 2:
        return replace(problem, cluster=replace(problem.cluster, hosts=hosts))
    gaps = {
        key: replace(profile, gap_ms=random.uniform(-30, 0))
        for key, profile in problem.profiles.profiles.items()
    }
    return replace(problem, profiles=replace(problem.profiles, profiles=gaps))


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_search_enumeration_and_checker_agree_on_sharded_updates(seed: int) -> None:
    problem = replace(small_problem(seed, compat=False), shard_optimizer=True)
    results = [
        planner().plan(problem, "strict", Limits(keep=1)) for planner in (EnumeratePlanner, AnytimePlanner)
    ]
    exact = ExactPlanner().plan(problem, "strict", Limits(keep=1))
    for result in (*results, exact):
        if result.certificate is not None:
            assert check_plan(document_of(problem, result)).lines == ()
    if exact.cost is not None and results[0].cost is not None:
        assert exact.cost.cost_ms == pytest.approx(results[0].cost.cost_ms, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([ExactPlanner, AnytimePlanner]))
@example(12, AnytimePlanner)  # a bound of 0 is none where costs can be below
@example(20, ExactPlanner)
@example(166, AnytimePlanner)  # boxes halved until some have no width
def test_certificates_are_accepted_whatever_the_links_and_gaps(seed: int, planner: type[Planner]) -> None:
    problem = strained(seed)
    result = planner().plan(problem, "strict", Limits(keep=1, time_limit_s=5))
    if result.certificate is not None:
        assert check_plan(document_of(problem, result)).lines == ()


def test_thousands_of_boxes_in_a_row_are_no_recursion() -> None:
    boxes = [Region(float(i), float(i + 1), 0.0, 1.0) for i in range(3000)]
    assert covers(boxes, Region(0.0, 3000.0, 0.0, 1.0))
    assert not covers(boxes, Region(0.0, 3000.1, 0.0, 1.0))
    assert not covers(boxes[:1700] + boxes[1701:], Region(0.0, 3000.0, 0.0, 1.0))
    assert not covers([], Region(0.0, 1.0, 0.0, 1.0))
