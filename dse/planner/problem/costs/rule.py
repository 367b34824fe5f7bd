"""Parts that pricing rules share: sums of slices of profiles and the shape of plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from math import floor
from typing import NamedTuple

from dse.planner.problem.problem import (
    ClusterPlan,
    PlanCost,
    PlanProblem,
    Profile,
    ProfileKey,
    StageCost,
    plain_sum,
)
from dse.planner.problem.ranks import Ranks


class Infeasible(Exception):  # noqa: N818 (a status of plans, not an error)
    """A plan that cannot run. `reason` has the numbers of this plan, `kind` is what many plans share."""

    def __init__(self, reason: str, kind: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind or reason


class PriceRule(ABC):
    """Prices plans of one problem."""

    def __init__(self, problem: PlanProblem) -> None:
        self.problem = problem

    @abstractmethod
    def price(self, plan: ClusterPlan) -> PlanCost:
        """Return the cost of a plan and its terms.

        Raises:
            Infeasible: the plan cannot run under this cost model.
        """


MIB = 2.0**20


class Placement(NamedTuple):
    """A stage as rules see it: ranks `start` to `start + gpus - 1` of a type sequence, degrees, layers.

    `layers` are the first and the one after the last; `after` stages follow, the next one with `following`
    GPUs (0: none).
    """

    types: tuple[str, ...]
    start: int
    gpus: int
    dp: int
    tp: int
    batches: int
    layers: tuple[int, int]
    after: int
    following: int


class PricingRule(PriceRule):
    """Prices plans of one problem. A rule is plain arithmetic; it remembers slices, and no plan."""

    def __init__(self, problem: PlanProblem) -> None:
        super().__init__(problem)
        self._ranks: dict[tuple[str, ...], Ranks] = {}
        self._ms: dict[tuple[ProfileKey, int, int], float] = {}
        self._memory_mb: dict[tuple[ProfileKey, int, int], float] = {}

    def price(self, plan: ClusterPlan) -> PlanCost:
        """Return the cost of a plan and its terms.

        Raises:
            Infeasible: the plan cannot run under this cost model.
        """
        self.check_shape(plan)
        places = placements(plan)
        for place in places:
            self.check_memory(place)
        costed = [*places[: plan.costed - 1], places[plan.costed - 1]._replace(following=0)]
        stages = [self.stage(place) for place in costed]
        return self.total(stages, self.gap_ms(costed[-1]), plan.batches, plan.types[0])

    def check_shape(self, plan: ClusterPlan) -> None:
        """Raise Infeasible where the numbers are no plan of this problem at all."""
        problem, count = self.problem, len(plan.groups)
        if sorted(plan.types) != sorted(problem.cluster.types):
            raise Infeasible(f"types {list(plan.types)}: must be those of the cluster, each once")
        if sum(plan.groups) != problem.cluster.gpus or count != len(plan.strategies):
            raise Infeasible(
                f"groups {list(plan.groups)}: must use {problem.cluster.gpus} GPUs, a group a stage"
            )
        if len(plan.partition) != count + 1 or not 1 <= plan.costed <= count:
            raise Infeasible(f"partition {list(plan.partition)}: needs a bound more than the {count} stages")
        if plan.batches < 1 or problem.gbs % plan.batches:
            raise Infeasible(f"{plan.batches} micro-batches: must divide the global batch, {problem.gbs}")
        bounds = plan.partition
        if bounds[0] != 0 or bounds[-1] > problem.layers or any(a > b for a, b in pairwise(bounds)):
            raise Infeasible(f"partition {list(bounds)}: must ascend from 0 to at most {problem.layers}")
        for gpus, (dp, tp) in zip(plan.groups, plan.strategies, strict=True):
            self.check_strategy(gpus, dp, tp, plan.batches)

    def check_strategy(self, gpus: int, dp: int, tp: int, batches: int) -> None:
        """Raise Infeasible unless the degrees fill the group and its batch is allowed."""
        problem = self.problem
        if dp < 1 or tp < 1 or dp * tp != gpus:
            raise Infeasible(f"{dp} x {tp}: dp times tp must be the stage's {gpus} GPUs")
        if tp > problem.max_tp:
            raise Infeasible(f"tp {tp}: at most max_tp={problem.max_tp}", "tp above max_tp")
        batch = problem.gbs // (dp * batches)
        if not 1 <= batch <= problem.max_batch:
            raise Infeasible(
                f"dp {dp} and {batches} micro-batches: a replica's batch is {batch}, "
                f"must be 1 to max_batch={problem.max_batch}",
                "a replica's batch is 0 or above max_batch",
            )

    @abstractmethod
    def check_memory(self, at: Placement) -> None:
        """Raise Infeasible where a stage does not fit."""

    @abstractmethod
    def stage(self, at: Placement) -> StageCost:
        """Return the terms of a stage."""

    @abstractmethod
    def link_ms(self, at: Placement) -> float:
        """Return the time of the link to the next stage, which has `following` GPUs."""

    @abstractmethod
    def reduction_ms_per_byte(self, at: Placement) -> float:
        """Return the time of the gradient reduction per byte of a rank's parameters."""

    @abstractmethod
    def gap_ms(self, at: Placement) -> float:
        """Return the gap charged for the last stage, over all micro-batches; `at` is the last stage."""

    @abstractmethod
    def total(self, stages: Sequence[StageCost], gap_ms: float, batches: int, first_type: str) -> PlanCost:
        """Add up the terms; the first stage begins with a GPU of `first_type`."""

    @abstractmethod
    def batch_generator_ms(self, first_type: str) -> float:
        """Return the batch generator's time for a micro-batch."""

    def ranks(self, types: tuple[str, ...]) -> Ranks:
        """Return the ranks of a type sequence."""
        if types not in self._ranks:
            self._ranks[types] = Ranks(self.problem.cluster, types)
        return self._ranks[types]

    def profile(self, type_: str, tp: int, batch: int) -> Profile:
        """Return a profile, or raise Infeasible: it names type, tensor degree and batch."""
        key = ProfileKey(type_, tp, batch)
        found = self.problem.profiles.profiles.get(key)
        if found is None:
            raise Infeasible(f"no profile of {key}")
        return found

    def layers_ms(self, type_: str, tp: int, batch: int, layers: tuple[int, int]) -> float:
        """Return the time of consecutive layers, added afresh from the first of them."""
        key = (ProfileKey(type_, tp, batch), *layers)
        if key not in self._ms:
            self._ms[key] = plain_sum(self.profile(type_, tp, batch).layer_ms[layers[0] : layers[1]])
        return self._ms[key]

    def layers_memory_mb(self, type_: str, tp: int, batch: int, layers: tuple[int, int]) -> float:
        """Return the memory of consecutive layers, added afresh from the first of them."""
        key = (ProfileKey(type_, tp, batch), *layers)
        if key not in self._memory_mb:
            memory = self.profile(type_, tp, batch).layer_memory_mb
            self._memory_mb[key] = plain_sum(memory[layers[0] : layers[1]])
        return self._memory_mb[key]


def placements(plan: ClusterPlan) -> list[Placement]:
    """Return the stages of a plan, the first first."""
    count, start, places = len(plan.groups), 0, []
    for i, (gpus, (dp, tp)) in enumerate(zip(plan.groups, plan.strategies, strict=True)):
        layers = (plan.partition[i], plan.partition[i + 1])
        following = plan.groups[i + 1] if i + 1 < count else 0
        places.append(
            Placement(plan.types, start, gpus, dp, tp, plan.batches, layers, count - 1 - i, following)
        )
        start += gpus
    return places


def shares(times_ms: list[float], batch: int) -> list[int]:
    """Return the samples of each replica: in proportion to its speed, 1 / `times_ms`, in whole samples.

    Samples that rounding down leaves go, one each, to the largest remainders; the lower replica is first
    among equals.
    """
    speeds = [1.0 / ms for ms in times_ms]
    total = plain_sum(speeds)
    exact = [batch * (speed / total) for speed in speeds]
    whole = [floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda r: -(exact[r] - whole[r]))
    for replica in by_remainder[: batch - sum(whole)]:
        whole[replica] += 1
    return whole


def slices(share: int) -> list[int]:
    """Return the powers of two that add up to a share, largest first."""
    return [1 << bit for bit in reversed(range(share.bit_length())) if share >> bit & 1]
