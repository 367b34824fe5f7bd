"""The checker of plans and certificates: independent of the search, in numpy and plain Python.

It prices the plan by the pricing rule, and proves every block's claim again: from its own tables of stages
(differences of running sums) it bounds suffixes from the back, then, where the bound alone does not prove the
claim, it extends prefixes from the front. The planner's search runs the other way round, in the engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isclose
from typing import Any

from dse.base.errors import InputError, excerpt
from dse.planner.files.documents import cost_from_dict, cost_to_dict, plan_from_dict, problem_from_dict
from dse.planner.problem.costs import Infeasible, rule_named
from dse.planner.problem.inputs.profile_files import check_gaps
from dse.planner.problem.keys import COST_MODELS
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.proofs.answer_check import wrong_in_answer
from dse.planner.proofs.blocks import check_blocks
from dse.planner.proofs.certificate import VERSION, digest
from dse.planner.search.automatic import useful_bound
from dse.planner.search.by_steps import NODES
from dse.planner.search.space import outside

PARTS = ("problem", "plan", "cost", "certificate")
CHECKED = (
    "problem, plan, cost, best, ranking, cost_model, bound_ms, gap, optimal, and the proofs of certificate"
)
UNCHECKED = "planner, count, plans, seconds, infeasible, provenance, simulation"
"""Parts of a file of `dse plan` that a check covers, and those that it does not look at."""
_MOST_LINES = 50
_LONGEST_LINE = 300


@dataclass(frozen=True)
class Verdict:
    """The result of a check: `lines` says what is wrong, each beginning with the place in the document.

    `blocks` are the proofs, of blocks or of boxes; `plans` how many they cover, None if not counted.
    """

    valid: bool
    lines: tuple[str, ...]
    blocks: int = 0
    plans: int | None = 0
    bound_ms: float | None = None


def check_document(document: Mapping[str, Any]) -> Verdict:
    """Check the document of a file: as `check_plan`, and that its profiles and times can be."""
    verdict = check_plan(document)
    lines = list(verdict.lines)
    try:
        problem = problem_from_dict(document["problem"])
    except (InputError, LookupError, TypeError):  # as the lines say
        return verdict
    try:
        check_gaps(problem)
    except InputError as error:
        lines.insert(0, str(error))
    if verdict.valid and not document["cost"]["cost_ms"] > 0:
        lines.append(f"cost.cost_ms: {document['cost']['cost_ms']}, a step takes more than 0 ms")
    return replace(verdict, valid=not lines, lines=tuple(lines), bound_ms=useful_bound(verdict.bound_ms))


def check_plan(document: Mapping[str, Any]) -> Verdict:
    """Check a plan, its cost and its certificate; whatever is wrong is in the verdict, never raised."""
    verdict = _checked(document)
    lines = [excerpt(line, _LONGEST_LINE) for line in verdict.lines[:_MOST_LINES]]
    if len(verdict.lines) > _MOST_LINES:
        lines.append(f"and {len(verdict.lines) - _MOST_LINES} more")
    return replace(verdict, lines=tuple(lines))


def _checked(document: Mapping[str, Any]) -> Verdict:
    lines: list[str] = []
    if not isinstance(document, Mapping):
        return Verdict(False, ("document: must be an object with problem, plan, cost and certificate",))
    planner = document.get("planner")
    if planner is not None and document.get("plan", "") is None:
        return Verdict(False, (f"plan: there is none, for planner {planner} found none",))
    if planner is not None and document.get("certificate", "") is None:
        return Verdict(False, (f"certificate: there is none, for planner {planner} writes none; exact does",))
    for part in PARTS:
        if not isinstance(document.get(part), Mapping):
            lines.append(f"{part}: missing, or no object; the document is truncated")
    if lines:
        return Verdict(False, tuple(lines))
    try:
        return _check(document)
    except InputError as error:
        return Verdict(False, (str(error),))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        return Verdict(False, (f"document: cannot be read: {type(error).__name__}: {error}",))


def _check(document: Mapping[str, Any]) -> Verdict:
    certificate = document["certificate"]
    lines = []
    if certificate.get("sha256") != digest(document):
        lines.append("certificate.sha256: is not the digest of the document, which was changed or truncated")
    if certificate.get("version") != VERSION:
        lines.append(f"certificate.version: {certificate.get('version')}, this checker reads {VERSION}")
    cost_model = certificate.get("cost_model")
    if cost_model not in COST_MODELS.own:
        lines.append(
            f"certificate.cost_model: {excerpt(cost_model)}, must be one of {', '.join(COST_MODELS.own)}"
        )
        return Verdict(False, tuple(lines))
    problem, plan = problem_from_dict(document["problem"]), plan_from_dict(document["plan"])
    priced = _check_price(problem, plan, cost_model, document, lines)
    best, bound = certificate.get("best_ms"), certificate.get("bound_ms")
    if priced is not None and best != priced:
        lines.append(f"certificate.best_ms: {best}, the plan costs {priced}")
    if not _number(best) or not _number(bound) or bound > best:
        lines.append(f"certificate.bound_ms: {bound}, must be a number of at most best_ms")
    if not lines:
        lines += wrong_in_answer(document, problem, plan, cost_from_dict(document["cost"]))
    if lines:
        return Verdict(False, tuple(lines))
    kind = certificate.get("kind")
    if kind == "blocks":
        found = check_blocks(problem, cost_model, certificate)
    elif kind == "dual":
        from dse.planner.proofs.duals import check_duals

        found = check_duals(problem, cost_model, certificate)
    elif kind == "steps":
        return Verdict(not (found := check_steps(problem, certificate)), tuple(found), 1, None, bound)
    else:
        found = [f"certificate.kind: {kind}, must be blocks, dual or steps"]
    blocks = certificate["blocks" if kind == "blocks" else "boxes"]
    plans = certificate["plans"] if kind == "blocks" else None  # boxes cover all plans, uncounted
    return Verdict(not found, tuple(found), len(blocks), plans, bound)


def _check_price(
    problem: PlanProblem,
    plan: ClusterPlan,
    cost_model: str,
    document: Mapping[str, Any],
    lines: list[str],
) -> float | None:
    """Price the plan again; every term must be the document's, to the bit."""
    claimed = cost_to_dict(cost_from_dict(document["cost"]))
    try:
        cost = rule_named(problem, cost_model).price(plan)
        strays = None if cost_model == "step" else outside(problem, plan, cost_model)  # the price says it
    except Infeasible as why:
        lines.append(f"plan: cannot run: {why.reason}")
        return None
    if strays is not None:
        lines.append(f"plan: is not in the space that the certificate speaks of: {strays}")
    actual = cost_to_dict(cost)
    for key in ("cost_ms", "gap_ms", "batch_generator_ms"):
        if claimed[key] != actual[key]:
            lines.append(f"cost.{key}: {claimed[key]}, the pricing rule says {actual[key]}")
    if len(claimed["stages"]) != len(actual["stages"]):
        lines.append(f"cost.stages: {len(claimed['stages'])}, the plan has {len(actual['stages'])}")
    for i, (said, is_) in enumerate(zip(claimed["stages"], actual["stages"], strict=False)):
        for key, value in is_.items():
            if said[key] != value:
                lines.append(f"cost.stages[{i}].{key}: {said[key]}, the pricing rule says {value}")
    return cost.cost_ms


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isclose(value, value)


_ROUNDING = 1e-9


def check_steps(problem: PlanProblem, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a bound; the plans of sweeps are no part of a file, and not looked at."""
    if problem.steps is None or certificate["cost_model"] != "step":
        return ["certificate.kind: steps, but the problem has no steps"]
    claimed_s, best_s = certificate["bound_ms"] / 1000, certificate["best_ms"] / 1000
    nodes = NODES["exact"] if claimed_s >= best_s * (1 - _ROUNDING) else 0
    # Tables need to look no further than the bound that is claimed.
    gap = max(0.0, best_s / claimed_s - 1)
    search = problem.steps.question().search
    bound_s = min(best_s, search(best_s * (1 + _ROUNDING), gap, nodes, 1, None, None)[1])
    if bound_s < claimed_s * (1 - _ROUNDING):
        return [f"certificate.bound_ms: {1000 * claimed_s}, but only {1000 * bound_s} can be shown"]
    return []
