"""A node fails: the best plan on what is left, and one nearly as fast that keeps most weights in place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dse.base.errors import InputError
from dse.planner.problem.plan import ClusterPlan, PlanResult
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.ranks import stage_spans
from dse.planner.questions.subsets import Solve, chosen_numbers, kind_of, node_kinds, restricted, solved


@dataclass(frozen=True)
class Candidate:
    """A plan on `hosts` (numbers) that are left; GPUs that lack weights must load `moved_bytes` of them."""

    plan: ClusterPlan
    problem: PlanProblem
    cost_ms: float
    moved_bytes: float
    hosts: Sequence[int]


@dataclass(frozen=True)
class Replan:
    """The plan for when `host` (its number) fails.

    `fastest` is the best plan on the hosts left, some of which may stay idle; `nearest` moves the fewest
    bytes among plans at most `slack` slower than it. `weights_bytes` are those of all GPUs of `fastest`.
    """

    host: int
    fastest: Candidate | None
    nearest: Candidate | None
    slack: float
    weights_bytes: float


def replan(problem: PlanProblem, before: PlanResult, solve: Solve, host: int, slack: float = 0.05) -> Replan:
    """Return the plans after a failure of a host of the cluster.

    Candidates are the cheapest plans of the planner (as many as it keeps) on all hosts left, and on those
    with as many nodes of a kind as the next lower power of two, or none where these hold others back.

    Raises:
        InputError: there is no plan before the failure, the last host fails, or the planner refuses.
    """
    if before.best is None:
        raise InputError("no plan was found even before a node fails; see dse plan, without fail")
    if len(problem.cluster.hosts) == 1:
        raise InputError("the cluster has one host; without it nothing can be planned")
    held = holdings(problem, before.best, range(len(problem.cluster.hosts)))
    candidates: list[Candidate] = []
    for numbers in _left(problem, host):
        own = restricted(problem, [problem.cluster.hosts[number] for number in numbers])
        result = solved(own, solve)
        for cost_ms, plan in result.ranking:
            moved = moved_bytes(problem, holdings(own, plan, numbers), held)
            candidates.append(Candidate(plan, own, cost_ms, moved, numbers))
    if not candidates:
        return Replan(host, None, None, slack, 0.0)
    fastest = min(candidates, key=lambda one: (one.cost_ms, one.moved_bytes))
    near = [one for one in candidates if one.cost_ms <= (1 + slack) * fastest.cost_ms]
    nearest = min(near, key=lambda one: (one.moved_bytes, one.cost_ms))
    weights = moved_bytes(problem, holdings(fastest.problem, fastest.plan, fastest.hosts), {})
    return Replan(host, fastest, nearest, slack, weights)


def _left(problem: PlanProblem, failed: int) -> Iterator[list[int]]:
    """Numbers of the hosts that are left, and of fewer."""
    numbers = [number for number in range(len(problem.cluster.hosts)) if number != failed]
    cluster = restricted(problem, [problem.cluster.hosts[number] for number in numbers]).cluster
    kinds = node_kinds(cluster)
    counts = []
    for kind in kinds.values():
        most = sum(kind_of(host) == kind for host in cluster.hosts)
        # Steps leave types idle that do not help, but time all nodes of one as the slowest kind.
        may_leave_out = problem.steps is None or sum(kind.type == other.type for other in kinds.values()) > 1
        counts.append(sorted({most, 1 << (most.bit_length() - 1), *([0] * may_leave_out)}, reverse=True))
    for chosen in itertools.product(*counts):
        if any(chosen):
            nodes = dict(zip(kinds, chosen, strict=True))
            yield [numbers[index] for index in chosen_numbers(cluster, nodes)]


class Shard(NamedTuple):
    """The layers from `first` up to `end`, of each the part `part` of `parts`."""

    first: int
    end: int
    part: int
    parts: int


def holdings(problem: PlanProblem, plan: ClusterPlan, numbers: Sequence[int]) -> dict[tuple[int, int], Shard]:
    """Return what each GPU holds of the weights; `numbers` are those of the problem's hosts in the answer."""
    found = {}
    for stage, spans in enumerate(stage_spans(problem.cluster, plan)):
        tp, rank = plan.strategies[stage][1], 0
        for span in spans:
            for gpu in range(span.first, span.first + span.gpus):
                bounds = plan.partition[stage], plan.partition[stage + 1]
                found[numbers[span.host], gpu] = Shard(*bounds, rank % tp, tp)
                rank += 1
    return found


def moved_bytes(
    problem: PlanProblem, needed: Mapping[tuple[int, int], Shard], held: Mapping[tuple[int, int], Shard]
) -> float:
    """Return the bytes of weights that GPUs must load: those that they need and do not hold."""
    sums = [0.0, *itertools.accumulate(problem.profiles.parameters_bytes)]
    total = 0.0
    for gpu, own in needed.items():
        total += max(0.0, sums[own.end] - sums[own.first]) / own.parts
        if gpu in held:
            old = held[gpu]
            low, high = max(own.first, old.first), min(own.end, old.end)
            ends = (own.part + 1) / own.parts, (old.part + 1) / old.parts
            share = min(ends) - max(own.part / own.parts, old.part / old.parts)
            if low < high and share > 0:
                total -= share * (sums[high] - sums[low])
    return total
