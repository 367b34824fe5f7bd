"""The gain from more nodes of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dse.planner.problem.plan import PlanResult
from dse.planner.problem.problem import PlanProblem
from dse.planner.questions.subsets import Solve, kind_of, node_kinds, restricted, solved


@dataclass(frozen=True)
class Growth:
    """The best plan with `nodes` more of a kind, which uses them all; `gain` is the share of a step it saves.

    `gain` below 0 means that a plan that uses the new nodes is slower than the one without; leave them idle.
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
            found.append(Growth(name, count, grown, result, gain))
    return found


def with_nodes(problem: PlanProblem, kind: str, count: int) -> PlanProblem:
    """Return the problem with more nodes of a kind, behind those that there are."""
    hosts = list(problem.cluster.hosts)
    last = max(i for i, host in enumerate(hosts) if kind_of(host) == node_kinds(problem.cluster)[kind])
    added = [replace(hosts[last], address=f"new-{hosts[last].type.lower()}-{n}") for n in range(count)]
    return restricted(problem, [*hosts[: last + 1], *added, *hosts[last + 1 :]])
