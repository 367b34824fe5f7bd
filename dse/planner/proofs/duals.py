"""Proofs of a dual certificate: boxes cover all plans below the best, and prices prove each box's bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dse.planner.costs import Infeasible
from dse.planner.costs.rule import Placement
from dse.planner.costs.strict import StrictRule, link_gbps, reduction_gbps
from dse.planner.problem import PlanProblem
from dse.planner.proofs.stages import Matrix, StageTables
from dse.planner.space import micro_batches, sequences

SLACK = 1e-9
BYTES_PER_MS = 1e6


class Region(NamedTuple):
    """Longest stage time, and largest update and reduction."""

    period_low: float
    period_high: float
    tail_low: float
    tail_high: float


class RelaxedWay(NamedTuple):
    """A way to use GPUs at the best place, by [first, end]; `use` is a share of all GPUs per type."""

    use: Matrix
    period_ms: Matrix
    sum_ms: Matrix
    tail_ms: Matrix


def check_duals(problem: PlanProblem, cost_model: str, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong, line by line; nothing if the certificate is proven."""
    if cost_model != "strict":
        return [f"certificate.cost_model: {cost_model}, boxes prove bounds under strict only"]
    boxes, lines = certificate["boxes"], []
    claims = [np.inf if box["bound_ms"] is None else box["bound_ms"] for box in boxes]
    bound = min(certificate["best_ms"], *claims)
    if certificate["bound_ms"] != bound:
        lines.append(f"certificate.bound_ms: {certificate['bound_ms']}, the boxes prove {bound}")
    if not certificate["root_ms"] >= certificate["best_ms"] * (1 - SLACK):
        lines.append(f"certificate.root_ms: {certificate['root_ms']}, must be at least best_ms")
    places = BestPlaces(problem)
    allowed = micro_batches(problem)
    for i, box in enumerate(boxes):
        if box["batches"] not in allowed:
            lines.append(f"certificate.boxes[{i}].batches: {box['batches']} does not divide the global batch")
    for batches in allowed:
        mine = [(i, box) for i, box in enumerate(boxes) if box["batches"] == batches]
        ways = RelaxedWays(problem, places, batches)
        regions = [Region(*(float(box[name]) for name in Region._fields)) for _, box in mine]
        if not covers(regions, ways.root(certificate["root_ms"])):
            lines.append(
                f"certificate.boxes: those of {batches} micro-batches leave out plans below "
                f"{certificate['root_ms']} ms"
            )
        for (i, box), region in zip(mine, regions, strict=True):
            proven = ways.bound_ms(region, np.asarray(box["multipliers"], dtype=float))
            if not claims[i] <= proven * (1 + SLACK):
                lines.append(
                    f"certificate.boxes[{i}].bound_ms: {box['bound_ms']}, only {proven} can be proven"
                )
    return lines


def covers(regions: list[Region], whole: Region) -> bool:
    """Whether regions, which came from halving one, cover it."""
    if not regions:
        return False
    if any(
        mine.period_low <= whole.period_low
        and mine.tail_low <= whole.tail_low
        and mine.period_high >= whole.period_high * (1 - SLACK)
        and mine.tail_high >= whole.tail_high * (1 - SLACK)
        for mine in regions
    ):
        return True
    for low, high in (("period_low", "period_high"), ("tail_low", "tail_high")):
        bottom, top = getattr(whole, low), getattr(whole, high)
        for cut in sorted({getattr(region, low) for region in regions}):
            if not bottom < cut < top:
                continue
            below = [region for region in regions if getattr(region, high) <= cut]
            above = [region for region in regions if getattr(region, low) >= cut]
            if len(below) + len(above) == len(regions):
                return covers(below, whole._replace(**{high: cut})) and covers(
                    above, whole._replace(**{low: cut})
                )
    return False


class BestPlaces:
    """The fastest links and reductions of aligned groups of one type, over all sequences and places."""

    def __init__(self, problem: PlanProblem) -> None:
        self.rule = StrictRule(problem)
        self.link_gbps: dict[tuple[str, int], float] = {}
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
                    if start + size < gpus:
                        gbps = link_gbps(problem, ranks, start, size + 1)
                        self.link_gbps[type_, size] = max(gbps, self.link_gbps.get((type_, size), 0.0))
                    else:
                        self.link_gbps.setdefault((type_, size), 0.0)
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


class RelaxedWays:
    """All ways to run a stage with a number of micro-batches, relaxed."""

    def __init__(self, problem: PlanProblem, places: BestPlaces, batches: int) -> None:
        self._problem, self._batches = problem, batches
        self._rule = places.rule
        layers = problem.layers
        self._rows, self._columns = np.triu_indices(layers + 1, 1)
        self._last = self._columns == layers
        ways = [*self._pure(places), *(self._mixed() if problem.allow_mixed_stages else [])]
        flat = [(way.use, *(matrix[self._rows, self._columns] for matrix in way[1:])) for way in ways]
        size = len(self._rows)
        self._use = np.array([way[0] for way in flat]).reshape(len(flat), len(problem.type_order))
        self._period, self._sum, self._tail = (
            np.array([way[i] for way in flat]).reshape(len(flat), size) for i in (1, 2, 3)
        )
        self._generators = batches * min(self._rule.batch_generator_ms(type_) for type_ in problem.type_order)

    def root(self, best_ms: float) -> Region:
        """Return the region of all plans that cost at most `best_ms`."""
        usable = np.isfinite(self._sum) & self._last
        least = float((self._sum[usable] - self._period[usable]).min(initial=0.0))
        room = best_ms - least
        return Region(0.0, room / self._batches, 0.0, room)

    def bound_ms(self, region: Region, multipliers: Matrix) -> float:
        """Return a bound on the plans of a region at prices of all GPUs of each type."""
        fits = (self._period <= region.period_high * (1 + SLACK)) & (
            self._tail <= region.tail_high * (1 + SLACK)
        )
        fee = self._use @ multipliers
        least = np.where(fits, self._sum + fee[:, None], np.inf).min(axis=0, initial=np.inf)
        layers = self._problem.layers
        edges = np.full((layers + 1, layers + 1), np.inf)
        edges[self._rows, self._columns] = least
        cost = np.full(layers + 1, np.inf)
        cost[0] = 0.0
        for end in range(1, layers + 1):
            cost[end] = (cost[:end] + edges[:end, end]).min()
        fixed = (self._batches - 1) * region.period_low + region.tail_low + self._generators
        return fixed + float(cost[layers]) - float(multipliers.sum())

    def _pure(self, places: BestPlaces) -> list[RelaxedWay]:
        problem, ways = self._problem, []
        order = {type_: i for i, type_ in enumerate(problem.type_order)}
        for (type_, gpus), gbps in places.link_gbps.items():
            use = np.zeros(len(order))
            use[order[type_]] = gpus / problem.cluster.gpus_of(type_)
            types = (type_, *(other for other in problem.type_order if other != type_))
            tables = StageTables(problem, "strict", types, self._batches)
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
                        gbps,
                        reduction,
                        use,
                    )
                    if way is not None:
                        ways.append(way)
                tp *= 2
        return ways

    def _way(
        self, tables: StageTables, place: Placement, batch: int, gbps: float, reduction: float, use: Matrix
    ) -> RelaxedWay | None:
        problem = self._problem
        try:
            execution, gap = tables.pure_execution(place, batch)
            optimizer = self._rule.optimizer_ms(place.types[0], place.tp)
        except Infeasible:
            return None
        per_byte = optimizer / float(sum(problem.profiles.parameters_bytes))
        if place.dp > 1:
            per_byte += 2 * (place.dp - 1) / (place.dp * reduction * BYTES_PER_MS) / place.tp
        sent = 2.0 * batch * problem.sequence * problem.hidden * problem.bytes_per_element
        period = execution.copy()
        period[:, :-1] += sent / (gbps * BYTES_PER_MS) if gbps else np.inf
        total = period.copy()
        total[:, -1] += gap
        return RelaxedWay(use, period, total, per_byte * tables.parameters)

    def _mixed(self) -> list[RelaxedWay]:
        problem = self._problem
        found: dict[tuple[float, ...], RelaxedWay] = {}
        for types in sequences(problem):
            tables = StageTables(problem, "strict", types, self._batches)
            ranks, gpus, size = tables.ranks, problem.cluster.gpus, 2
            while size <= gpus:
                for start in range(0, gpus - size + 1, size):
                    if len(ranks.types_in(start, size)) < 2:
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
                        old = found.get(use)
                        if old is not None:
                            period = np.minimum(period, old.period_ms)
                            total = np.minimum(total, old.sum_ms)
                            tail = np.minimum(tail, old.tail_ms)
                        found[use] = RelaxedWay(np.array(use), period, total, tail)
                size *= 2
        return list(found.values())


def _at_its_end(execution_ms: Matrix, first: bool, last: bool) -> Matrix:
    """Return the times that remain for a group that is the first of all, the last, or both."""
    kept = execution_ms.copy()
    if first:
        kept[1:, :] = np.inf
    if last:
        kept[:, :-1] = np.inf
    return kept
