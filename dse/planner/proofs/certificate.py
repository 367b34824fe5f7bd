"""The proof that a plan is best: bounds or searches of all blocks of the space, as plain data for JSON.

A block is a type sequence, a number of micro-batches and the stage counts that share a least group. It says
how many plans it has and that none of them is below `bound_ms`: the block is `empty` (nothing in it fits),
`pruned` (its bound without labels reached the best plan), `searched` (labels to the end) or `open` (a limit
came first).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dse.planner.files.documents import cost_to_dict, plan_to_dict, problem_to_dict
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem
from dse.planner.problem.ranks import Ranks
from dse.planner.search.space import plans_by_stages

_COUNTS = ("labels", "dominated", "pruned")
VERSION = 1


class SearchedBlock(NamedTuple):
    """A block as the engine ends it; `bound_ms` is infinite for an empty one."""

    sequence: list[int]
    batches: int
    least_group: int
    stages: list[int]
    bound_ms: float
    outcome: str
    labels: int
    dominated: int
    pruned: int


def exact_certificate(
    problem: PlanProblem,
    cost_model: str,
    blocks: Sequence[SearchedBlock],
    best: ClusterPlan,
    cost: PlanCost,
    bound_ms: float,
) -> dict[str, Any]:
    """Return the certificate of an exact search: `kind` blocks."""
    listed: list[dict[str, Any]] = []
    ranks: dict[tuple[str, ...], Ranks] = {}
    for block in blocks:
        types = tuple(problem.type_order[i] for i in block.sequence)
        if types not in ranks:
            ranks[types] = Ranks(problem.cluster, types)
        counts = plans_by_stages(problem, cost_model, ranks[types], block.batches, block.stages)
        searched = block.outcome == "searched"
        listed.append(
            {
                "types": list(types),
                "batches": block.batches,
                "least_group": block.least_group,
                "stages": block.stages,
                "plans": sum(counts.values()),
                "outcome": block.outcome,
                "bound_ms": cost.cost_ms if searched else _finite(block.bound_ms),
                **{name: getattr(block, name) for name in _COUNTS},
            }
        )
    certificate = {
        "version": VERSION,
        "kind": "blocks",
        "cost_model": cost_model,
        "plans": sum(block["plans"] for block in listed),
        **{name: sum(block[name] for block in listed) for name in _COUNTS},
        "best_ms": cost.cost_ms,
        "bound_ms": bound_ms,
        "blocks": listed,
    }
    return sealed(problem, best, cost, certificate)


def sealed(
    problem: PlanProblem, best: ClusterPlan, cost: PlanCost, certificate: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the certificate with the digest of everything that it speaks of."""
    document = {
        "problem": problem_to_dict(problem),
        "plan": plan_to_dict(best),
        "cost": cost_to_dict(cost),
        "certificate": dict(certificate),
    }
    return {**certificate, "sha256": digest(document)}


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of problem, plan, cost and certificate, without the digest itself."""
    certificate = {key: value for key, value in document["certificate"].items() if key != "sha256"}
    content = {
        "problem": document["problem"],
        "plan": document["plan"],
        "cost": document["cost"],
        "certificate": certificate,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _finite(value: float) -> float | None:
    return value if value < float("inf") else None


def dual_certificate(
    problem: PlanProblem,
    boxes: Sequence[Sequence[Any]],
    root_ms: float,
    best: ClusterPlan,
    cost: PlanCost,
    bound_ms: float,
) -> dict[str, Any]:
    """Return the certificate of an anytime search: `kind` dual.

    A box has the plans of a number of micro-batches whose longest stage time, and largest update and
    reduction, are in its ranges. All plans below `root_ms` are in a box. `multipliers` are the prices in ms
    of all GPUs of each type, in the type order, that prove its bound.
    """
    ranges = ("period_low", "period_high", "tail_low", "tail_high")
    names = ("batches", *ranges, "multipliers", "bound_ms")
    ordered = sorted(boxes, key=lambda box: tuple(box[:5]))
    listed = [dict(zip(names, (*box[:-1], _finite(box[-1])), strict=True)) for box in ordered]
    certificate = {
        "version": VERSION,
        "kind": "dual",
        "cost_model": "strict",
        "plans": None,
        "root_ms": root_ms,
        "best_ms": cost.cost_ms,
        "bound_ms": bound_ms,
        "boxes": listed,
    }
    return sealed(problem, best, cost, certificate)


def step_certificate(
    problem: PlanProblem, best: ClusterPlan, cost: PlanCost, bound_ms: float, priced: int, labels: int
) -> dict[str, Any]:
    """Return the certificate of a search by predicted steps: a bound that the engine finds again."""
    certificate = {
        "version": VERSION,
        "kind": "steps",
        "cost_model": "step",
        "priced": priced,
        "labels": labels,
        "best_ms": cost.cost_ms,
        "bound_ms": bound_ms,
    }
    return sealed(problem, best, cost, certificate)
