"""Why parts of a space fall out: missing profiles, and memory where nothing fits."""

from __future__ import annotations

from dse.planner.problem.costs import Infeasible, PricingRule
from dse.planner.problem.costs.rule import Placement
from dse.planner.problem.problem import PlanProblem
from dse.planner.search.space import micro_batches, sequences, tensor_degrees

UNPROVEN = "the search found no plan, and does not prove that there is none"
"""The reason of a planner that looked at a part of the space only, and found nothing in it."""


def reasons_of(problem: PlanProblem, cost_model: str, rule: PricingRule, nothing: bool) -> dict[str, int]:
    """Count the shapes (type, group, degree, micro-batches) of one type that cannot run, by reason.

    Missing profiles are always named. Where `nothing` fits, also what a stage of one layer needs: the reason
    has type, degrees, batch, need and capacity.
    """
    reasons: dict[str, int] = {}
    types = sequences(problem)[0]
    ranks, start = rule.ranks(types), 0
    for type_ in types:
        owned = problem.cluster.gpus_of(type_)
        for batches in micro_batches(problem):
            gpus = 1
            while gpus <= owned:
                for tp in tensor_degrees(problem, cost_model, ranks, start, gpus, batches):
                    reason = _reason(
                        problem,
                        rule,
                        Placement(types, start, gpus, gpus // tp, tp, batches, (0, 1), 0, 0),
                        nothing,
                    )
                    if reason:
                        reasons[reason] = reasons.get(reason, 0) + 1
                gpus *= 2
        start += owned
    if nothing and not reasons:
        reasons["no arrangement of groups and layers fits"] = 1
    return dict(sorted(reasons.items()))


def _reason(problem: PlanProblem, rule: PricingRule, place: Placement, nothing: bool) -> str | None:
    try:
        rule.profile(
            rule.ranks(place.types).types[place.start], place.tp, problem.gbs // (place.dp * place.batches)
        )
        if nothing:
            for layer in range(problem.layers):
                rule.check_memory(place._replace(layers=(layer, layer + 1)))
    except Infeasible as why:
        return why.reason
    return None
