"""The gain from more nodes of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.problem.ranks import stage_types
from dse.planner.questions.subsets import Solve, kind_of, node_kinds, restricted, solved


@dataclass(frozen=True)
class Growth:
    """The best plan with `nodes` more of a kind; `gain` is the share of a step that they save.

    `gain` is at most 0 where the plan needs no more GPUs than there were, or is slower: leave the nodes idle.
    None means that no plan fits.
    """

    kind: str
    nodes: int
    problem: PlanProblem
    result: PlanResult
    gain: float | None


def growth(
    problem: PlanProblem, base: PlanResult, solve: Solve, kinds: Sequence[str], counts: Sequence[int]
) -> list[Growth]:
    """Return what more nodes of each kind bring over `base`, the answer without them.

    Raises:
        InputError: the planner refuses a problem.
    """
    found = []
    for name in kinds:
        for count in counts:
            grown = with_nodes(problem, name, count)
            result = solved(grown, solve)
            gain = None
            if result.cost is not None and base.cost is not None:
                gain = 1 - result.cost.cost_ms / base.cost.cost_ms
                if not _has_more(grown, result, problem.cluster):
                    gain = min(0.0, gain)  # a longer search of the nodes without them finds this plan, too
            found.append(Growth(name, count, grown, result, gain))
    return found


def _has_more(grown: PlanProblem, result: PlanResult, before: MixedCluster) -> bool:
    """Whether the best plan has more GPUs of a type than there were."""
    assert result.best is not None
    used: Counter[str] = Counter()
    for types in stage_types(grown.cluster, result.best):
        used.update(types)
    return any(gpus > before.gpus_of(type_) for type_, gpus in used.items())


def with_nodes(problem: PlanProblem, kind: str, count: int) -> PlanProblem:
    """Return the problem with more nodes of a kind, behind those that there are."""
    hosts = list(problem.cluster.hosts)
    last = max(i for i, host in enumerate(hosts) if kind_of(host) == node_kinds(problem.cluster)[kind])
    added = [replace(hosts[last], address=f"new-{hosts[last].type.lower()}-{n}") for n in range(count)]
    return restricted(problem, [*hosts[: last + 1], *added, *hosts[last + 1 :]])
