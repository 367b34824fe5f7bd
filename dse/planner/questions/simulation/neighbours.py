"""Plans that differ from a plan in one thing: degrees, micro-batches, boundaries, cuts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dse.planner.problem.problem import ClusterPlan, PlanProblem


def neighbours_of(problem: PlanProblem, plan: ClusterPlan) -> Iterator[ClusterPlan]:
    """Yield the neighbours of a plan; whether they can be run is for a pricing rule to say.

    One stage with half or twice its tensor degree, or all of them; half or twice the micro-batches, alone or
    with both; one boundary a layer earlier or later; two neighbouring stages as one, or one cut into halves;
    two neighbouring types swapped.
    """
    plan = replace(plan, attempt=1, delta=0, costed=len(plan.groups))
    for strategies in _strategies(plan):
        yield replace(plan, strategies=strategies)
    for batches in (plan.batches * 2, plan.batches // 2):
        if batches and problem.gbs % batches == 0:
            other = replace(plan, batches=batches)
            yield other
            for strategies in _strategies(other):
                yield replace(other, strategies=strategies)
    for place in range(1, len(plan.groups)):
        for step in (-1, 1):
            bounds = list(plan.partition)
            bounds[place] += step
            if bounds[place - 1] < bounds[place] < bounds[place + 1]:
                yield replace(plan, partition=tuple(bounds))
    yield from _cuts(plan)
    for place in range(1, len(plan.types)):
        order = list(plan.types)
        order[place - 1 : place + 1] = order[place], order[place - 1]
        yield replace(plan, types=tuple(order))


def _strategies(plan: ClusterPlan) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield the degrees with one stage, or all stages, a power of two more or less tensor parallel."""
    for factor in (2, 0.5):
        every = tuple(_scaled(dp, tp, factor) for dp, tp in plan.strategies)
        for stage, changed in enumerate(every):
            yield (*plan.strategies[:stage], changed, *plan.strategies[stage + 1 :])
        if len(every) > 1:
            yield every


def _scaled(dp: int, tp: int, factor: float) -> tuple[int, int]:
    more = int(tp * factor)
    if more < 1 or dp * tp % more:
        return dp, tp
    return dp * tp // more, more


def _cuts(plan: ClusterPlan) -> Iterator[ClusterPlan]:
    """Yield the plan with a stage cut into halves, or with two stages of one size joined."""
    for stage, (gpus, (dp, tp)) in enumerate(zip(plan.groups, plan.strategies, strict=True)):
        first, end = plan.partition[stage : stage + 2]
        if gpus > 1 and end - first > 1:
            half = (dp // 2, tp) if dp > 1 else (dp, tp // 2)
            yield _with(plan, stage, 1, (gpus // 2,) * 2, (half, half), ((first + end) // 2,))
        if stage + 1 < len(plan.groups) and plan.groups[stage + 1] == gpus:
            yield _with(plan, stage, 2, (2 * gpus,), ((2 * dp, tp),), ())


def _with(
    plan: ClusterPlan,
    stage: int,
    taken: int,
    groups: tuple[int, ...],
    strategies: tuple[tuple[int, int], ...],
    bounds: tuple[int, ...],
) -> ClusterPlan:
    after = stage + taken
    made = (*plan.groups[:stage], *groups, *plan.groups[after:])
    return replace(
        plan,
        groups=made,
        strategies=(*plan.strategies[:stage], *strategies, *plan.strategies[after:]),
        partition=(*plan.partition[: stage + 1], *bounds, *plan.partition[after:]),
        costed=len(made),
    )
