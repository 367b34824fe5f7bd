"""The checker's tables of stages: terms of all ranges of layers, from differences of running sums."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.planner.problem.costs import Infeasible, additive_rule
from dse.planner.problem.costs.compat import MEMORY_FACTOR, MIB_PER_GIB, CompatRule
from dse.planner.problem.costs.rule import MIB, Placement, PricingRule, slices
from dse.planner.problem.costs.strict import OPTIMIZER_BYTES, WEIGHT_AND_GRADIENT_BYTES, StrictRule
from dse.planner.problem.problem import PlanProblem, ProfileKey
from dse.planner.search.space import tensor_degrees

Matrix = NDArray[np.float64]
SLACK = 1e-9  # of a capacity: running sums round otherwise than the rule; more may fit, so bounds stay sound


@dataclass(frozen=True)
class StageTerms:
    """Terms of one way to use a group, [first layer, layer after the last].

    `execution_ms` is infinite where not even one micro-batch fits; `in_flight` is how many do. Under strict
    `update_ms` is update and reduction, `reduction_ms` 0.
    """

    gpus: int
    tp: int
    execution_ms: Matrix
    update_ms: Matrix
    reduction_ms: Matrix
    in_flight: Matrix
    gap_ms: float
    link_ms: dict[int, tuple[float, float]]
    """By GPUs of the next stage: of any cut, and of the one before the last layer."""


class StageTables:
    """Tables of one type sequence and number of micro-batches."""

    def __init__(
        self,
        problem: PlanProblem,
        cost_model: str,
        types: tuple[str, ...],
        batches: int,
        rule: PricingRule | None = None,
    ) -> None:
        """`rule` is the cost model's, with what it remembers of links; without, a new one."""
        self.problem, self.types, self.batches = problem, types, batches
        self.cost_model = cost_model
        self.rule = rule or additive_rule(problem, cost_model)
        self.ranks = self.rule.ranks(types)
        self._sums: dict[tuple[str, ProfileKey], Matrix] = {}
        self._made: dict[tuple[int, int], list[StageTerms]] = {}
        self.parameters = ranges(problem.profiles.parameters_bytes)
        layers = problem.layers
        self._ordered = np.arange(layers + 1)[:, None] < np.arange(layers + 1)[None, :]

    def at(self, start: int, gpus: int) -> list[StageTerms]:
        """Return the ways to use a group."""
        if (start, gpus) not in self._made:
            degrees = tensor_degrees(self.problem, self.cost_model, self.ranks, start, gpus, self.batches)
            made = (self._terms(start, gpus, tp) for tp in degrees)
            self._made[start, gpus] = [terms for terms in made if terms is not None]
        return self._made[start, gpus]

    def _terms(self, start: int, gpus: int, tp: int) -> StageTerms | None:
        last = self.problem.layers
        place = Placement(self.types, start, gpus, gpus // tp, tp, self.batches, (last - 1, last), 0, 0)
        try:
            if isinstance(self.rule, CompatRule):
                execution, in_flight, update, reduction = self._compat(self.rule, place)
            else:
                assert isinstance(self.rule, StrictRule)
                execution, in_flight, update, reduction = self._strict(self.rule, place)
        except Infeasible:
            return None
        try:
            gap = self.rule.gap_ms(place)
        except Infeasible:
            gap = np.inf
        execution = np.where((in_flight >= 1) & self._ordered, execution, np.inf)
        links, following = {}, 1
        while start + gpus + following <= self.problem.cluster.gpus:
            links[following] = self._links(place, following)
            following *= 2
        return StageTerms(gpus, tp, execution, update, reduction, in_flight, gap, links)

    def _links(self, place: Placement, following: int) -> tuple[float, float]:
        """The rule's link of a first layer alone, and of the layer before the last."""
        layers = self.problem.layers
        any_cut = place._replace(layers=(layers - 1, layers), following=following)
        before_last = place._replace(layers=(layers - 2, layers - 1), following=following)
        cut = self.rule.link_ms(any_cut)
        return cut, self.rule.link_ms(before_last) if layers > 1 else cut

    def _compat(self, rule: CompatRule, place: Placement) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        problem, tp, layers = self.problem, place.tp, self.problem.layers
        names = self.ranks.types_in(place.start, place.gpus)
        batch = problem.gbs // (place.dp * place.batches)
        if len(names) == 1:
            execution = self._ms(names[0], tp, batch)
            demand = 0.001 + MEMORY_FACTOR * self._mb(self.types[0], tp, batch)
        else:
            dealt = rule.split(place, place.start, place.gpus)
            kinds = {(self.ranks.types[place.start + r * tp], share) for r, share in enumerate(dealt)}
            execution = self._slowest(kinds, tp)
            demand = np.full_like(execution, 0.001)
            for share in rule.split(place, 0, problem.cluster.gpus):
                for part in slices(share):
                    demand = demand + MEMORY_FACTOR * self._mb(self.types[0], tp, part)
        capacity = sum(
            MIB_PER_GIB * problem.cluster.memory_gib[type_]
            for type_ in self.ranks.types[place.start : place.start + place.gpus]
        )
        in_flight = np.where(demand <= capacity * (1 + SLACK), np.inf, 0.0)
        counts = np.arange(layers + 1)[None, :] - np.arange(layers + 1)[:, None]
        update = rule.optimizer_total_ms / tp * (counts / layers)
        parameters = problem.profiles.parameters_bytes
        middle = counts.astype(float)
        total = np.zeros_like(middle)
        total[0, :] += parameters[0] / tp
        middle[0, :] -= 1
        total[:, -1] += parameters[-1] / tp
        middle[:, -1] -= 1
        total = total + parameters[min(1, layers - 1)] / tp * middle
        return execution, in_flight, update, rule.reduction_ms_per_byte(place) * total

    def _strict(self, rule: StrictRule, place: Placement) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        dp, tp = place.dp, place.tp
        kinds = set(rule.replicas(place))
        execution = np.zeros_like(self.parameters)
        for type_, parts in kinds:
            execution = np.maximum(execution, self._added(self._ms, type_, tp, parts))
        in_flight = self._in_flight(rule, place, kinds)
        types = self.ranks.types_in(place.start, place.gpus)
        update = max(rule.optimizer_ms(type_, tp, dp) for type_ in types)
        terms = update * (self.parameters / self.parameters[0, -1])
        if dp > 1:
            terms = terms + rule.reduction_ms_per_byte(place) * (self.parameters / tp)
        return execution, in_flight, terms, np.zeros_like(terms)

    def _in_flight(
        self, rule: StrictRule, place: Placement, kinds: set[tuple[str, tuple[int, ...]]]
    ) -> Matrix:
        """How many micro-batches fit in flight on every GPU."""
        problem, dp, tp = self.problem, place.dp, place.tp
        in_flight = np.full_like(self.parameters, np.inf)
        count = self.parameters / problem.bytes_per_element / tp
        for type_, parts in kinds:
            capacity = rule.capacity_bytes(type_) * (1 + SLACK)
            if not problem.profiles.memory_has_states:
                optimizer = OPTIMIZER_BYTES / dp if problem.shard_optimizer else OPTIMIZER_BYTES
                fixed = count * (WEIGHT_AND_GRADIENT_BYTES + optimizer)
                each = MIB * self._added(self._mb, type_, tp, parts)
            else:
                batch = parts[0] if parts else 1
                low = rule.doubled_batch(type_, tp, batch)
                sample = self._mb(type_, tp, batch) / batch
                if low is not None:
                    more = self._mb(type_, tp, 2 * low) - self._mb(type_, tp, low)
                    sample = np.maximum(0.0, more) / low
                each = MIB * sample * sum(parts)
                fixed = MIB * (self._mb(type_, tp, batch) - sample * (batch if parts else 0))
                if problem.shard_optimizer:
                    fixed = fixed - OPTIMIZER_BYTES * (1 - 1 / dp) * count
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(each > 0, (capacity - fixed) / each, np.where(fixed <= capacity, np.inf, 0.0))
            in_flight = np.minimum(in_flight, np.floor(room + SLACK))
        return in_flight

    def _added(
        self, table: Callable[[str, int, int], Matrix], type_: str, tp: int, parts: tuple[int, ...]
    ) -> Matrix:
        total = np.zeros_like(self.parameters)
        for part in parts:
            total = total + table(type_, tp, part)
        return total

    def pure_execution(self, place: Placement, batch: int) -> tuple[Matrix, float, Matrix]:
        """Return times of a stage of the sequence's first type, its gap, and what fits in flight.

        They are so wherever its group is.
        Times are infinite where not even one micro-batch fits.
        """
        assert isinstance(self.rule, StrictRule)
        type_, tp = place.types[0], place.tp
        in_flight = self._in_flight(self.rule, place, {(type_, (batch,))})
        execution = np.where((in_flight >= 1) & self._ordered, self._ms(type_, tp, batch), np.inf)
        return execution, self.batches * self.rule.profile(type_, tp, batch).gap_ms, in_flight

    def _slowest(self, kinds: set[tuple[str, int]], tp: int) -> Matrix:
        slowest = np.zeros_like(self.parameters)
        for type_, share in kinds:
            time = np.zeros_like(slowest)
            for part in slices(share):
                if part > self.problem.max_batch:
                    raise Infeasible("a slice above max_batch")
                time = time + self._ms(type_, tp, part)
            slowest = np.maximum(slowest, time)
        return slowest

    def _ms(self, type_: str, tp: int, batch: int) -> Matrix:
        key = ("ms", ProfileKey(type_, tp, batch))
        if key not in self._sums:
            self._sums[key] = ranges(self.rule.profile(type_, tp, batch).layer_ms)
        return self._sums[key]

    def _mb(self, type_: str, tp: int, batch: int) -> Matrix:
        key = ("mb", ProfileKey(type_, tp, batch))
        if key not in self._sums:
            self._sums[key] = ranges(self.rule.profile(type_, tp, batch).layer_memory_mb)
        return self._sums[key]


def ranges(values: tuple[float, ...]) -> Matrix:
    """Return sums of consecutive values, [first, end]; meaningless where end <= first."""
    running = np.concatenate([[0.0], np.cumsum(np.asarray(values, dtype=float))])
    result: Matrix = running[None, :] - running[:, None]
    return result
