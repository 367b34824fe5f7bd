"""The ways to run a stage, each at its best place, for the checker's relaxed problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse.planner.problem.costs import Infeasible
from dse.planner.problem.costs.rule import Placement
from dse.planner.problem.costs.strict import StrictRule, link_gbps, reduction_gbps
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.ranks import Ranks
from dse.planner.proofs.stages import Matrix, StageTables
from dse.planner.search.space import sequences

BYTES_PER_MS = 1e6


class RelaxedWay(NamedTuple):
    """A way to use GPUs at the best place, by [first, end]; `use` is a share of all GPUs per type.

    `in_flight` is how many micro-batches in flight fit. `links_ms` are what sending to a stage of the same
    type and of another takes, each at the best place, infinite where there is none.
    """

    use: Matrix
    period_ms: Matrix
    sum_ms: Matrix
    tail_ms: Matrix
    in_flight: Matrix
    links_ms: tuple[float, float] | None = None


class WayMaker:
    """Makes the ways of a number of micro-batches."""

    def __init__(self, problem: PlanProblem, places: BestPlaces, batches: int) -> None:
        self._problem, self._places, self._batches = problem, places, batches
        self._rule = places.rule

    def ways(self) -> tuple[list[RelaxedWay], list[int]]:
        """Return all ways and the kind of each."""
        mixed = self._mixed() if self._problem.allow_mixed_stages else []
        return self._before_their_next([*self._pure(self._places), *mixed])

    def _before_their_next(self, ways: list[RelaxedWay]) -> tuple[list[RelaxedWay], list[int]]:
        """Return ways with what they send, and the kind of each: its type, and whether the next has it too.

        Those of one type are there twice: before a stage of the type or at the end of all, and before another
        type. Those of several types are of the last kind, and send what they send at least.
        """
        types = len(self._problem.type_order)
        found, kinds = [], []
        for way in ways:
            if way.links_ms is None:
                found.append(way)
                kinds.append(2 * types)
                continue
            for across, link_ms in enumerate(way.links_ms):
                period, total = way.period_ms.copy(), way.sum_ms.copy()
                for matrix in (period, total):
                    matrix[:, :-1] += link_ms
                    if across:
                        matrix[:, -1] = np.inf
                found.append(way._replace(period_ms=period, sum_ms=total))
                kinds.append(int(np.flatnonzero(way.use)[0]) + across * types)
        return found, kinds

    def _pure(self, places: BestPlaces) -> list[RelaxedWay]:
        problem, ways = self._problem, []
        order = {type_: i for i, type_ in enumerate(problem.type_order)}
        for (type_, gpus), within in places.within_gbps.items():
            use = np.zeros(len(order))
            use[order[type_]] = gpus / problem.cluster.gpus_of(type_)
            types = (type_, *(other for other in problem.type_order if other != type_))
            tables = StageTables(problem, "strict", types, self._batches, self._rule)
            tp = 1
            while tp <= min(gpus, problem.max_tp):
                dp = gpus // tp
                batch = problem.gbs // (dp * self._batches)
                if 1 <= batch <= problem.max_batch and problem.gbs % (dp * self._batches) == 0:
                    reduction = places.reduction_gbps.get((type_, gpus, tp), 0.0)
                    way = self._way(
                        tables,
                        Placement(types, 0, gpus, dp, tp, self._batches, (0, 1), 0, 0),
                        batch,
                        (within, places.across_gbps[type_, gpus]),
                        reduction,
                        use,
                    )
                    if way is not None:
                        ways.append(way)
                tp *= 2
        return ways

    def _way(
        self,
        tables: StageTables,
        place: Placement,
        batch: int,
        gbps: tuple[float, float],
        reduction: float,
        use: Matrix,
    ) -> RelaxedWay | None:
        problem = self._problem
        try:
            execution, gap, in_flight = tables.pure_execution(place, batch)
            optimizer = self._rule.optimizer_ms(place.types[0], place.tp, place.dp)
        except Infeasible:
            return None
        per_byte = optimizer / float(sum(problem.profiles.parameters_bytes))
        if place.dp > 1:
            per_byte += 2 * (place.dp - 1) / (place.dp * reduction * BYTES_PER_MS) / place.tp
        sent = 2.0 * batch * problem.sequence * problem.hidden * problem.bytes_per_element
        within, across = (sent / (each * BYTES_PER_MS) if each else np.inf for each in gbps)
        total = execution.copy()
        total[:, -1] += gap
        tail = per_byte * tables.parameters
        return RelaxedWay(use, execution, total, tail, in_flight, (within, across))

    def _mixed(self) -> list[RelaxedWay]:
        problem = self._problem
        found: dict[tuple[float, ...], RelaxedWay] = {}
        for types in sequences(problem):
            tables = StageTables(problem, "strict", types, self._batches, self._rule)
            ranks, gpus, size = tables.ranks, problem.cluster.gpus, 2
            while size <= gpus:
                for start in range(0, gpus - size + 1, size):
                    if ranks.types[start] == ranks.types[start + size - 1]:
                        continue
                    inside = ranks.types[start : start + size]
                    use = tuple(inside.count(t) / problem.cluster.gpus_of(t) for t in problem.type_order)
                    for terms in tables.at(start, size):
                        links = [link for link, _ in terms.link_ms.values()]
                        period = _at_its_end(terms.execution_ms, start == 0, start + size == gpus)
                        period[:, :-1] += min(links, default=np.inf)
                        total = period.copy()
                        total[:, -1] += terms.gap_ms
                        # Its own times say where it can be: those of others, merged, are elsewhere too.
                        tail = np.where(np.isfinite(period), terms.update_ms, np.inf)
                        in_flight = np.where(np.isfinite(period), terms.in_flight, 0.0)
                        old = found.get(use)
                        if old is not None:
                            period = np.minimum(period, old.period_ms)
                            total = np.minimum(total, old.sum_ms)
                            tail = np.minimum(tail, old.tail_ms)
                            in_flight = np.maximum(in_flight, old.in_flight)
                        found[use] = RelaxedWay(np.array(use), period, total, tail, in_flight)
                size *= 2
        return list(found.values())


def _at_its_end(execution_ms: Matrix, first: bool, last: bool) -> Matrix:
    """Return the times that remain for a group that is the first of all, the last, or both."""
    kept: Matrix = execution_ms.copy()
    if first:
        kept[1:, :] = np.inf
    if last:
        kept[:, :-1] = np.inf
    return kept


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
