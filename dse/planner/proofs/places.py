"""The fastest links and reductions of groups of one type, for the checker's relaxed problem."""

from __future__ import annotations

from dse.planner.problem.costs.ranks import Ranks
from dse.planner.problem.costs.strict import StrictRule, link_gbps, reduction_gbps
from dse.planner.problem.problem import PlanProblem
from dse.planner.search.space import sequences


class BestPlaces:
    """The fastest links and reductions of aligned groups of one type, over all sequences and places."""

    def __init__(self, problem: PlanProblem) -> None:
        self.rule = StrictRule(problem)
        self.within_gbps: dict[tuple[str, int], float] = {}
        """To a stage of the same type; `across_gbps`: of another; 0: there is none."""
        self.across_gbps: dict[tuple[str, int], float] = {}
        self.reduction_gbps: dict[tuple[str, int, int], float] = {}
        degrees = sorted({key.tp for key in problem.profiles.profiles})
        seen = set()
        for types in sequences(problem):
            ranks, gpus = self.rule.ranks(types), problem.cluster.gpus
            begin = {type_: ranks.types.index(type_) for type_ in types}
            size = 1
            while size <= gpus:
                for start in range(0, gpus - size + 1, size):
                    type_ = ranks.types[start]
                    if ranks.types[start + size - 1] != type_:
                        continue
                    for best in (self.within_gbps, self.across_gbps):
                        best.setdefault((type_, size), 0.0)
                    if start + size < gpus:
                        same = ranks.types[start + size] == type_
                        best = self.within_gbps if same else self.across_gbps
                        gbps = _fastest_link_gbps(problem, ranks, start, size)
                        best[type_, size] = max(gbps, best[type_, size])
                    place = (type_, start - begin[type_], size)
                    if place in seen:
                        continue
                    seen.add(place)
                    for tp in degrees:
                        if tp < size:
                            gbps = reduction_gbps(problem, ranks, start, size, tp)
                            key = (type_, size, tp)
                            self.reduction_gbps[key] = max(gbps, self.reduction_gbps.get(key, 0.0))
                size *= 2


def _fastest_link_gbps(problem: PlanProblem, ranks: Ranks, start: int, size: int) -> float:
    """Return the fastest link to a stage that begins right after, of any size.

    Hosts may be linked faster than GPUs inside one: then the next stage does best to leave the host.
    """
    here = ranks.host_of[start]
    leaving = next(
        (rank for rank in range(start + size, problem.cluster.gpus) if ranks.host_of[rank] != here), None
    )
    near = link_gbps(problem, ranks, start, size + 1)
    return near if leaving is None else max(near, link_gbps(problem, ranks, start, leaving - start + 1))
