"""A node fails: the best plan on what is left, and one nearly as fast that keeps most weights in place."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dse.base.errors import NothingFits
from dse.planner.problem.costs.step import plan_chunks
from dse.planner.problem.costs_from_model import expert_bytes
from dse.planner.problem.problem import ClusterPlan, PlanProblem, PlanResult
from dse.planner.problem.ranks import stage_spans
from dse.planner.problem.steps import way_of
from dse.planner.questions.subsets import Solve, chosen_numbers, kind_of, node_kinds, restricted, solved
from dse.prediction.steps.plan import Plan


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
        NothingFits: there is no plan before the failure, or the last host fails.
        InputError: the planner refuses.
    """
    if before.best is None:
        raise NothingFits("no plan was found even before a node fails; see dse plan, without fail")
    if len(problem.cluster.hosts) == 1:
        raise NothingFits("the cluster has one host; without it nothing can be planned")
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
    """The layers from `first` up to `end`: the part `part` of `parts` of their experts, or of all else."""

    first: int
    end: int
    part: int
    parts: int
    has_experts: bool = False


Holdings = Mapping[tuple[int, int], Sequence[Shard]]
"""The shards that GPUs hold, by the numbers of host and GPU."""


def holdings(problem: PlanProblem, plan: ClusterPlan, numbers: Sequence[int]) -> Holdings:
    """Return what each GPU holds of the weights; `numbers` are those of the problem's hosts in the answer."""
    found = {}
    has_experts = any(_bytes_of_experts(problem))
    for stage, spans in enumerate(stage_spans(problem.cluster, plan)):
        rank, ranges = 0, _ranges(problem, plan, stage)
        way = way_of(plan.ways[stage]) if plan.ways else None
        tp, gpus = plan.strategies[stage][1], plan.groups[stage]
        for span in spans:
            for gpu in range(span.first, span.first + span.gpus):
                own = found[numbers[span.host], gpu] = [
                    Shard(*bounds, *_part_of_rest(way, tp, gpus, rank)) for bounds in ranges
                ]
                if has_experts:
                    own += [Shard(*bounds, *_part_of_experts(way, tp, gpus, rank), True) for bounds in ranges]
                rank += 1
    return found


def _ranges(problem: PlanProblem, plan: ClusterPlan, stage: int) -> list[tuple[int, int]]:
    """The layers of a stage; of interleaved ones a range for each chunk."""
    if plan_chunks(plan) == 1:
        return [(plan.partition[stage], plan.partition[stage + 1])]
    from dse.native._engine import stage_layers

    assert problem.steps is not None
    way, pp = way_of(plan.ways[stage]), len(plan.groups)
    counts = stage_layers(problem.steps.layers, pp, way.chunks, way.stages)
    ends = [0, *(1 + end for end in itertools.accumulate(counts[:-1])), problem.layers]
    return [(ends[chunk], ends[chunk + 1]) for chunk in range(stage, len(counts), pp)]


def _part_of_rest(way: Plan | None, tp: int, gpus: int, rank: int) -> tuple[int, int]:
    """The part of a layer besides its experts that a rank of a stage holds; ZeRO-3 shares it out."""
    if way is None or not way.weight_sharded:
        return rank % tp, tp
    copies = way.shard_ranks or gpus // tp
    return rank % tp * copies + rank // tp % copies, tp * copies


def _part_of_experts(way: Plan | None, tp: int, gpus: int, rank: int) -> tuple[int, int]:
    """The same of experts, whose groups have degrees of their own."""
    if way is None:
        return rank % tp, tp
    degree = way.expert_tp or tp
    copies = gpus // (degree * way.ep) if way.weight_sharded else 1
    part = rank // degree % way.ep * degree + rank % degree
    return part * copies + rank // (degree * way.ep) % copies, degree * way.ep * copies


def _bytes_of_experts(problem: PlanProblem) -> tuple[float, ...]:
    """Of each layer; none where no model is known to have any."""
    model = None if problem.step_space is None else problem.step_space.model
    return () if model is None or model.experts is None else expert_bytes(model)


def moved_bytes(problem: PlanProblem, needed: Holdings, held: Holdings) -> float:
    """Return the bytes of weights that GPUs must load: those that they need and do not hold."""
    every, experts = problem.profiles.parameters_bytes, _bytes_of_experts(problem)
    rest = [own - part for own, part in zip(every, experts or (0.0,) * len(every), strict=True)]
    sums = {False: [0.0, *itertools.accumulate(rest)], True: [0.0, *itertools.accumulate(experts)]}
    total = 0.0
    for gpu, shards in needed.items():
        for own in shards:
            of = sums[own.has_experts]
            total += max(0.0, of[own.end] - of[own.first]) / own.parts
            for old in held.get(gpu, ()):
                low, high = max(own.first, old.first), min(own.end, old.end)
                ends = (own.part + 1) / own.parts, (old.part + 1) / old.parts
                share = min(ends) - max(own.part / own.parts, old.part / old.parts)
                if old.has_experts == own.has_experts and low < high and share > 0:
                    total -= share * (of[high] - of[low])
    return total
