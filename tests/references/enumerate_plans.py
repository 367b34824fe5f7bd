"""The oracle: prices every plan of a small space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from time import perf_counter
from typing import Any

from dse.base.errors import InputError
from dse.planner.problem.costs import Infeasible, PricingRule, rule_named
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, PlanResult
from dse.planner.problem.ranks import Ranks
from dse.planner.proofs.blocks import expected_blocks
from dse.planner.proofs.certificate import SearchedBlock, exact_certificate
from dse.planner.search.planner import Limits, Planner
from dse.planner.search.space import (
    group_sizes,
    least_group,
    micro_batches,
    most_stages,
    plans_by_stages,
    sequences,
    tensor_degrees,
)

MOST_PLANS = 2_000_000


class EnumeratePlanner(Planner):
    """Prices every plan of `dse.planner.search.space`; refuses spaces of more than `most_plans`."""

    name = "enumerate"
    cost_models = ("compat", "strict")

    def __init__(self, most_plans: int = MOST_PLANS) -> None:
        self._most_plans = most_plans

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """See `Planner.plan`; the ranking holds the cheapest plans of the whole space.

        `seconds` leaves out the certificate.

        Raises:
            InputError: the space is too large; the message says how many plans it has.
        """
        started = perf_counter()
        rule = rule_named(problem, cost_model)
        self._refuse_large(problem, cost_model)
        kept: list[tuple[float, int, ClusterPlan]] = []
        reasons: dict[str, int] = {}
        priced = 0
        for plan in every_plan(problem, cost_model, rule):
            try:
                cost = rule.price(plan).cost_ms
            except Infeasible as why:
                reasons[why.kind] = reasons.get(why.kind, 0) + 1
                continue
            kept.append((cost, priced, plan))
            priced += 1
            if len(kept) > 1000 + 2 * limits.keep:
                kept = sorted(kept)[: max(1, limits.keep)]
                if on_progress is not None:
                    on_progress(f"{priced} plans priced, best {kept[0][0]:.6g} ms")
        kept = sorted(kept)[: max(1, limits.keep)]
        best = kept[0][2] if kept else None
        seconds = perf_counter() - started
        best_cost = rule.price(best) if best else None
        certificate = _certificate(problem, cost_model, best, best_cost) if best and best_cost else None
        return PlanResult(
            self.name,
            cost_model,
            None,
            priced,
            best,
            best_cost,
            kept[0][0] if kept else None,
            bool(kept),
            seconds,
            tuple((cost, plan) for cost, _, plan in kept),
            dict(sorted(reasons.items())),
            certificate,
        )

    def _refuse_large(self, problem: PlanProblem, cost_model: str) -> None:
        total = 0
        rule = rule_named(problem, cost_model)
        for types in sequences(problem):
            for stages in range(1, most_stages(problem) + 1):
                for batches in micro_batches(problem):
                    total += plans_in(problem, cost_model, rule.ranks(types), stages, batches)
                if total > self._most_plans:
                    raise InputError(
                        f"the space has more than {self._most_plans} plans "
                        f"(at least {total} of {stages} stages or fewer); use ExactPlanner"
                    )


def _certificate(problem: PlanProblem, cost_model: str, best: ClusterPlan, cost: PlanCost) -> dict[str, Any]:
    """Return the certificate of a space of which every plan was priced: all blocks were searched."""
    number = {type_: i for i, type_ in enumerate(problem.type_order)}
    blocks = [
        SearchedBlock(
            [number[type_] for type_ in types], batches, unit, list(stages), cost.cost_ms, "searched", 0, 0, 0
        )
        for (types, batches, stages), unit in expected_blocks(problem, cost_model).items()
    ]
    return exact_certificate(problem, cost_model, blocks, best, cost, cost.cost_ms)


def arrangements(
    problem: PlanProblem, cost_model: str, ranks: Ranks, stages: int, batches: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the (group, tensor degree) pairs of all stages, for every way to use all GPUs."""
    least = least_group(problem, cost_model, stages)

    def extend(start: int, left: int) -> Iterator[tuple[tuple[int, int], ...]]:
        if left == 0:
            if start == problem.cluster.gpus:
                yield ()
            return
        for gpus in group_sizes(problem, cost_model, start, least):
            for tp in tensor_degrees(problem, cost_model, ranks, start, gpus, batches):
                for rest in extend(start + gpus, left - 1):
                    yield ((gpus, tp), *rest)

    return extend(0, stages)


def plans_in(problem: PlanProblem, cost_model: str, ranks: Ranks, stages: int, batches: int) -> int:
    """Return how many plans of a number of stages the space has, whether or not they fit."""
    return plans_by_stages(problem, cost_model, ranks, batches, [stages])[stages]


def every_plan(problem: PlanProblem, cost_model: str, rule: PricingRule) -> Iterator[ClusterPlan]:
    """Yield the plans of the space, whether or not they can run."""
    for types in sequences(problem):
        ranks = rule.ranks(types)
        for stages in range(1, most_stages(problem) + 1):
            cuts = list(combinations(range(1, problem.layers), stages - 1))
            for batches in micro_batches(problem):
                for pairs in arrangements(problem, cost_model, ranks, stages, batches):
                    groups = tuple(gpus for gpus, _ in pairs)
                    strategies = tuple((gpus // tp, tp) for gpus, tp in pairs)
                    for cut in cuts:
                        partition = (0, *cut, problem.layers)
                        yield ClusterPlan(types, groups, strategies, batches, partition, stages)
