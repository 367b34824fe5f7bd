"""The space that exact planners search: sequences, groups, degrees, partitions; per cost model.

Compat: groups are any ordered powers of two, at least `least_group`, that use all GPUs; a stage
may have GPUs of several types. Strict: groups are any powers of two, each at a start that is a multiple of
its size ("aligned"), as ranks are numbered in the order of the sequence; so a group of at most a host's size
never straddles hosts of that size. `group_scale` and `permutation_limit` do not bound the strict space. In
both a stage has at least a layer, its degrees are powers of two, tp is at most `max_tp`, and a replica's
batch is from 1 to `max_batch`. Under strict a stage of one type has a batch that divides evenly, a mixed one
tensor groups of one type each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import comb, isqrt

from dse.base.errors import InputError
from dse.planner.problem.costs.rule import placements
from dse.planner.problem.problem import ClusterPlan, PlanProblem
from dse.planner.problem.ranks import Ranks

MOST_TYPES = 7
"""Of GPUs: their orders are 5,040; those of eight took a search of 16 GPUs two minutes."""


def check_types(types: Sequence[str]) -> None:
    """Refuse more types than there is time for.

    Raises:
        InputError: there are more than `MOST_TYPES`.
    """
    if len(types) > MOST_TYPES:
        raise InputError(
            f"the cluster has {len(types)} GPU types; at most {MOST_TYPES} are searched in all their orders: "
            "leave some out, or give types that are alike one name"
        )


def sequences(problem: PlanProblem) -> list[tuple[str, ...]]:
    """Return the type sequences, in lexicographic order of positions in the type order.

    Raises:
        InputError: as `check_types`.
    """
    check_types(problem.type_order)
    return list(permutations(problem.type_order))


def micro_batches(problem: PlanProblem) -> list[int]:
    """Return the numbers of micro-batches, the most first."""
    low = [count for count in range(1, isqrt(problem.gbs) + 1) if problem.gbs % count == 0]
    return sorted({*low, *(problem.gbs // count for count in low)}, reverse=True)


def most_stages(problem: PlanProblem) -> int:
    """Return how many stages a plan can have."""
    return min(problem.cluster.gpus, problem.layers)


def least_group(problem: PlanProblem, cost_model: str, stages: int) -> int:
    """Return the least group of plans with a number of stages."""
    if cost_model == "strict":
        return 1
    gpus = problem.cluster.gpus
    return max(1, max(gpus // stages, stages // gpus) * problem.group_scale)


def group_sizes(problem: PlanProblem, cost_model: str, start: int, least: int) -> list[int]:
    """Return the sizes that a group beginning at a rank may have, ascending."""
    left, size, sizes = problem.cluster.gpus - start, 1, []
    while size <= left:
        if size >= least and (cost_model == "compat" or start % size == 0):
            sizes.append(size)
        size *= 2
    return sizes


def tensor_degrees(
    problem: PlanProblem, cost_model: str, ranks: Ranks, start: int, gpus: int, batches: int
) -> list[int]:
    """Return the tensor degrees that a group may have, ascending; none where a mixed stage is not allowed."""
    kinds = ranks.types_in(start, gpus)
    if len(kinds) > 1 and not problem.allow_mixed_stages:
        return []
    degrees, tp = [], 1
    while tp <= min(gpus, problem.max_tp):
        dp = gpus // tp
        fits = 1 <= problem.gbs // (dp * batches) <= problem.max_batch
        if cost_model == "strict" and len(kinds) == 1:
            fits = fits and problem.gbs % (dp * batches) == 0
        elif cost_model == "strict":
            fits = fits and all(len(ranks.types_in(start + r * tp, tp)) == 1 for r in range(dp))
        if fits:
            degrees.append(tp)
        tp *= 2
    return degrees


def plans_by_stages(
    problem: PlanProblem, cost_model: str, ranks: Ranks, batches: int, stage_counts: list[int]
) -> dict[int, int]:
    """Return the number of plans per number of stages; all counts must share their least group."""
    gpus, fewest, most = problem.cluster.gpus, min(stage_counts), max(stage_counts)
    least = least_group(problem, cost_model, stage_counts[0])
    unit = 1 << (least - 1).bit_length()  # no group is smaller
    ways: list[dict[int, int]] = [{} for _ in range(gpus + 1)]  # by start: stages so far -> arrangements
    ways[0][0] = 1
    degrees: dict[tuple[int, int | None], int] = {}  # all groups of one type and size have the same
    for start in range(0, gpus, unit):
        for size in group_sizes(problem, cost_model, start, least) if ways[start] else ():
            target, enough = ways[start + size], fewest - (gpus - start - size) // unit
            going_on = [
                (count + 1, number) for count, number in ways[start].items() if enough <= count + 1 <= most
            ]
            if not going_on:
                continue
            key = (size, None if len(ranks.types_in(start, size)) == 1 else start)
            if key not in degrees:
                degrees[key] = len(tensor_degrees(problem, cost_model, ranks, start, size, batches))
            for count, number in going_on if degrees[key] else ():
                target[count] = target.get(count, 0) + number * degrees[key]
    return {s: ways[gpus].get(s, 0) * comb(problem.layers - 1, s - 1) for s in stage_counts}


def outside(problem: PlanProblem, plan: ClusterPlan, cost_model: str) -> str | None:
    """Return why a plan is not in the space, or None; what pricing rules check is left to them."""
    stages = len(plan.groups)
    ranks = Ranks(problem.cluster, plan.types)
    least = least_group(problem, cost_model, stages)
    if plan.costed != stages or plan.partition[-1] != problem.layers:
        return "it is truncated or loses layers"
    for i, at in enumerate(placements(plan)):
        if at.layers[0] >= at.layers[1]:
            return f"stage {i} has no layer"
        if at.gpus not in group_sizes(problem, cost_model, at.start, least):
            return f"stage {i}: {at.gpus} GPUs from rank {at.start} are not a group of this space"
        if at.tp not in tensor_degrees(problem, cost_model, ranks, at.start, at.gpus, at.batches):
            return f"stage {i}: tensor degree {at.tp} is not one of this space"
    return None
