"""The best plan for subsets of the nodes: how many of each kind are used."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.numbers import powers_of_two
from dse.planner.files.records import price_of_step, stage_entries
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.throughput import Throughput, throughput_of

MOST_SUBSETS = 10_000
Solve = Callable[[PlanProblem], PlanResult]
"""What plans a problem, with the planner, the cost model and the limits that were asked for."""


class NodeKind(NamedTuple):
    """Nodes that plans cannot tell apart."""

    type: str
    gpus: int
    intra_gbps: float
    inter_gbps: float
    island: int


@dataclass(frozen=True)
class Subset:
    """Nodes by name of their kind, and the best plan of them all (`result.best` is None if none fits)."""

    nodes: Mapping[str, int]
    problem: PlanProblem
    result: PlanResult

    @property
    def gpus(self) -> dict[str, int]:
        """GPUs by type."""
        cluster = self.problem.cluster
        return {type_: cluster.gpus_of(type_) for type_ in cluster.types}

    @property
    def step_ms(self) -> float | None:
        """Time of a step."""
        return None if self.result.cost is None else self.result.cost.cost_ms

    @property
    def throughput(self) -> Throughput | None:
        """Sequences, tokens and MFU; a plan of Metis's cost model may not run, so it has no figures."""
        if self.step_ms is None:
            return None
        doubt = "priced by cost=compat: it may not run" if self.result.cost_model == "compat" else ""
        return throughput_of(self.problem, self.step_ms, doubt)

    @property
    def price_per_hour(self) -> float | None:
        """Price of all its GPUs; None where prices are unknown."""
        return self.problem.cluster.hourly_price

    @property
    def price_per_step(self) -> float | None:
        """Price of a step."""
        return None if self.step_ms is None else price_of_step(self.problem, self.step_ms)

    @property
    def memory_share(self) -> float | None:
        """Share of its memory that the fullest GPU needs; None under the compat cost."""
        return None if self.result.cost is None else memory_share(self.problem, self.result)


def kind_of(host: Host) -> NodeKind:
    """Return what plans see of a host."""
    return NodeKind(host.type, host.gpus, host.intra_gbps, host.inter_gbps, host.island)


def node_kinds(cluster: MixedCluster) -> dict[str, NodeKind]:
    """Return the kinds of nodes by name: that of the type, with a number where a type has several kinds."""
    kinds = list(dict.fromkeys(map(kind_of, cluster.hosts)))
    found: dict[str, NodeKind] = {}
    for kind in kinds:
        alike = [other for other in kinds if other.type == kind.type]
        name = kind.type if len(alike) == 1 else f"{kind.type}/{alike.index(kind)}"
        found[name] = kind
    return found


def restricted(problem: PlanProblem, hosts: Sequence[Host]) -> PlanProblem:
    """Return the problem on other hosts; types without hosts leave the type order."""
    cluster = replace(problem.cluster, hosts=tuple(hosts))
    if len({host.island for host in hosts}) == 1:
        cluster = replace(cluster, between_islands_gbps=None)
    types = tuple(type_ for type_ in problem.type_order if type_ in cluster.types)
    return problem.on(cluster, types)


def chosen_numbers(cluster: MixedCluster, nodes: Mapping[str, int]) -> list[int]:
    """Return the numbers of the first hosts of each kind, as many as `nodes` says, in their order."""
    kinds = {kind: name for name, kind in node_kinds(cluster).items()}
    left = dict(nodes)
    found = []
    for number, host in enumerate(cluster.hosts):
        name = kinds[kind_of(host)]
        if left.get(name, 0) > 0:
            left[name] -= 1
            found.append(number)
    return found


def subsets(problem: PlanProblem, *, every: bool) -> list[dict[str, int]]:
    """Return how many nodes of each kind subsets have: 0, 1, 2, 4, … and all, or, with `every`, any number.

    Raises:
        InputError: there are more than `MOST_SUBSETS`.
    """
    cluster = problem.cluster
    counts = []
    for kind in node_kinds(cluster).values():
        most = sum(kind_of(host) == kind for host in cluster.hosts)
        counts.append(list(range(most + 1)) if every else sorted({0, most, *powers_of_two(most)}))
    total = 1
    for own in counts:
        total *= len(own)
    if total > MOST_SUBSETS:
        less = "write counts=doubling, or take a smaller cluster" if every else "take a smaller cluster"
        raise InputError(f"there are {total} subsets of nodes; at most {MOST_SUBSETS} are planned: {less}")
    names = list(node_kinds(cluster))
    return [dict(zip(names, chosen, strict=True)) for chosen in itertools.product(*counts) if any(chosen)]


def solve_subsets(
    problem: PlanProblem,
    solve: Solve,
    *,
    every: bool = False,
    on_subset: Callable[[int], None] = lambda _: None,
) -> list[Subset]:
    """Return the best plan of every subset; `on_subset` gets their number, before each.

    Raises:
        InputError: there are too many subsets, or the planner refuses one.
    """
    chosen = subsets(problem, every=every)
    found = []
    for nodes in chosen:
        on_subset(len(chosen))
        hosts = problem.cluster.hosts
        own = restricted(problem, [hosts[number] for number in chosen_numbers(problem.cluster, nodes)])
        found.append(Subset(nodes, own, solved(own, solve)))
    return found


def solved(problem: PlanProblem, solve: Solve) -> PlanResult:
    """Return the answer of a planner; a number of GPUs that it refuses is an answer without a plan.

    Compat plans begin with a single stage of all GPUs, which must be a power of two.
    """
    gpus = problem.cluster.gpus
    try:
        return solve(problem)
    except InputError as error:
        if gpus & (gpus - 1) == 0:
            raise
        return PlanResult("", "", None, 0, None, None, None, False, 0.0, infeasible={str(error): 1})


def memory_share(problem: PlanProblem, result: PlanResult) -> float | None:
    """Return the fullest GPU's share of its memory under the best plan."""
    if result.best is None or result.cost is None:
        return None
    shares = [
        own["bytes"] / own["capacity_bytes"]
        for stage in stage_entries(problem, result.best, result.cost)
        for own in stage["memory"].values()
    ]
    return max(shares, default=None)


def front(found: Sequence[Subset]) -> list[Subset]:
    """Return the subsets on the Pareto front of step time, price per hour and memory share, fastest first.

    Prices or memory that no subset knows are not compared.
    """
    known = [subset for subset in found if subset.step_ms is not None]
    values = {id(subset): _values(subset) for subset in known}
    kept = [
        subset
        for subset in known
        if not any(_is_better(values[id(other)], values[id(subset)]) for other in known)
    ]
    unique = {values[id(subset)]: subset for subset in reversed(kept)}
    return sorted(unique.values(), key=lambda subset: values[id(subset)])


def _values(subset: Subset) -> tuple[float, float, float]:
    return (subset.step_ms or 0.0, subset.price_per_hour or 0.0, subset.memory_share or 0.0)


def _is_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def kept_for(subset: Subset, on_front: Sequence[Subset]) -> str:
    """Return why a subset is on a front: what it is the best in, or for which memory it costs more time."""
    own = _values(subset)
    all_values = [_values(other) for other in on_front]
    names = ("least time", "least price per hour", "least memory")
    known = (True, subset.price_per_hour is not None, subset.memory_share is not None)
    best = [
        name
        for i, (name, is_known) in enumerate(zip(names, known, strict=True))
        if is_known and own[i] == min(values[i] for values in all_values)
    ]
    if any(_is_better(values[:2], own[:2]) for values in all_values):
        return "less memory only: others are as fast and as cheap"
    return ", ".join(best) or "no other is as fast for its price"
