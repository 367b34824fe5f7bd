"""The work of a plan's GPUs: replicas with their samples and times, messages, gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from dse.planner.problem.costs.rule import Infeasible, Placement, PricingRule, placements
from dse.planner.problem.costs.strict import GIB, StrictRule
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, StageCost, plain_sum
from dse.planner.problem.ranks import Ranks

FORWARD_SHARE = 1 / 3
"""Share of the forward pass in the time of a layer. Profiles have the sum: a backward pass has two products
of matrices for each one of the forward pass."""

LONGEST_STEP_MS = 2**52 / 1e6
"""Half of what the engine's clock holds in ns: 52 days."""


class RunningRule(StrictRule):
    """The strict rule for all plans that run: mixed tensor groups are as fast as their slowest GPU."""

    def check_shape(self, plan: ClusterPlan) -> None:
        """Also: every layer is in a stage; stages may have none."""
        PricingRule.check_shape(self, plan)
        if plan.partition[-1] != self.problem.layers:
            lost = f"layers {plan.partition[-1]} to {self.problem.layers - 1}"
            raise Infeasible(f"{lost} are in no stage", "layers are in no stage")

    def _deal(self, at: Placement) -> list[tuple[str, tuple[int, ...]]]:
        ranks = self.ranks(at.types)
        groups = [ranks.types_in(at.start + replica * at.tp, at.tp) for replica in range(at.dp)]
        if all(len(group) == 1 for group in groups):
            return super()._deal(at)
        model = (0, self.problem.layers)
        slowest = [max(group, key=lambda kind: self.layers_ms(kind, at.tp, 1, model)) for group in groups]
        return self.dealt(slowest, at)


@dataclass(frozen=True)
class Replica:
    """One copy of a stage: GPUs that share its tensors, and the samples of a micro-batch that it takes.

    `layers_ms` is forward plus backward of the layers for one micro-batch, `gap_ms` what the profile has
    beyond its layers, of the last stage only.
    """

    ranks: range
    first_sample: int
    samples: int
    layers_ms: float
    gap_ms: float = 0.0


@dataclass(frozen=True)
class StageWork:
    """One stage that has layers; `number` counts the stages of the plan from 0.

    `terms` is its price under `RunningRule`. `gradient_bytes` are those of one GPU, reduced with its like in
    the other replicas. `generator_ms` is what making a micro-batch takes, on the first stage only.
    """

    number: int
    layers: tuple[int, int]
    types: tuple[str, ...]
    tp: int
    replicas: tuple[Replica, ...]
    terms: StageCost
    gradient_bytes: float
    generator_ms: float = 0.0


@dataclass(frozen=True)
class Message:
    """Activations of samples of a micro-batch, and later their gradients the other way.

    From the replica `source` of a stage to `destination` of the next.
    """

    stage: int
    source: int
    destination: int
    samples: int


@dataclass(frozen=True)
class PlanWork:
    """A plan as work: stages that have layers, in order.

    `price` is its strict cost. `short_of_memory` says which GPUs have too little, empty if none; `notes` what
    the plan leaves out.
    """

    ranks: Ranks
    between_islands_gbps: float | None
    stages: tuple[StageWork, ...]
    micro_batches: int
    sample_bytes: int
    price: PlanCost
    short_of_memory: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages that go forward per micro-batch, by stage: each overlap of two replicas' samples."""
        found = []
        for stage, (here, there) in enumerate(pairwise(self.stages)):
            for source, sender in enumerate(here.replicas):
                for destination, taker in enumerate(there.replicas):
                    first = max(sender.first_sample, taker.first_sample)
                    last = min(sender.first_sample + sender.samples, taker.first_sample + taker.samples)
                    if last > first:
                        found.append(Message(stage, source, destination, last - first))
        return tuple(found)

    def link_gbps(self, rank: int, other: int) -> float:
        """The slowest link between two GPUs."""
        here, there = (self.ranks.hosts[self.ranks.host_of[each]] for each in (rank, other))
        if self.ranks.host_of[rank] == self.ranks.host_of[other]:
            return here.intra_gbps
        slowest = min(here.inter_gbps, there.inter_gbps)
        if here.island != there.island and self.between_islands_gbps is not None:
            return min(slowest, self.between_islands_gbps)
        return slowest


def work_of(problem: PlanProblem, plan: ClusterPlan, rule: RunningRule | None = None) -> PlanWork:
    """Return the work of a plan. Stages without layers are left out.

    Raises:
        Infeasible: the plan loses layers or samples, a profile is missing, or its step is too long.
    """
    rule = rule or RunningRule(problem)
    rule.check_shape(plan)
    working = [place for place in placements(plan) if place.layers[1] > place.layers[0]]
    places = [
        place._replace(after=len(working) - 1 - i, following=_end(working, i) - place.start - place.gpus)
        for i, place in enumerate(working)
    ]
    terms = [rule.stage(place) for place in places]
    price = rule.total(terms, rule.gap_ms(places[-1]), plan.batches, plan.types[0])
    if not price.cost_ms <= LONGEST_STEP_MS:
        raise Infeasible(
            f"a step of {price.cost_ms:g} ms is too long to simulate: at most {LONGEST_STEP_MS:g} ms",
            "a step is too long to simulate",
        )
    stages = tuple(
        _stage(rule, place, cost, price, place is places[-1], place is places[0], number)
        for place, cost, number in zip(places, terms, _numbers(plan), strict=True)
    )
    idle = sum(plan.groups) - sum(place.gpus for place in places)
    sample_bytes = problem.sequence * problem.hidden * problem.bytes_per_element
    return PlanWork(
        rule.ranks(plan.types),
        problem.cluster.between_islands_gbps,
        stages,
        plan.batches,
        sample_bytes,
        price,
        _short_of_memory(rule, places, terms),
        (f"{idle} GPUs are idle: their stages have no layers",) if idle else (),
    )


def _numbers(plan: ClusterPlan) -> list[int]:
    return [number for number, (first, end) in enumerate(pairwise(plan.partition)) if end > first]


def _end(places: Sequence[Placement], number: int) -> int:
    """The first rank after the stage that follows; idle ranks between count as its own."""
    place = places[min(number + 1, len(places) - 1)]
    return place.start + place.gpus


def _stage(
    rule: RunningRule,
    place: Placement,
    terms: StageCost,
    price: PlanCost,
    is_last: bool,
    is_first: bool,
    number: int,
) -> StageWork:
    replicas, sample = [], 0
    for index, (kind, parts) in enumerate(rule.replicas(place)):
        start = place.start + index * place.tp
        ms = plain_sum(rule.layers_ms(kind, place.tp, part, place.layers) for part in parts)
        gap = plain_sum(rule.profile(kind, place.tp, part).gap_ms for part in parts) if is_last else 0.0
        replicas.append(Replica(range(start, start + place.tp), sample, sum(parts), ms, gap))
        sample += sum(parts)
    types = tuple(rule.ranks(place.types).types_in(place.start, place.gpus))
    own = plain_sum(rule.problem.profiles.parameters_bytes[slice(*place.layers)])
    generator = price.batch_generator_ms / place.batches if is_first else 0.0
    return StageWork(number, place.layers, types, place.tp, tuple(replicas), terms, own / place.tp, generator)


def _short_of_memory(rule: RunningRule, places: Sequence[Placement], terms: Sequence[StageCost]) -> str:
    for place, cost in zip(places, terms, strict=True):
        types = rule.ranks(place.types).types[place.start : place.start + place.gpus]
        for kind, need in dict.fromkeys(zip(types, cost.memory_bytes, strict=True)):
            capacity = rule.capacity_bytes(kind)
            if need > capacity:
                layers = f"layers {place.layers[0]} to {place.layers[1] - 1}"
                return (
                    f"{kind} tp {place.tp}: {layers} need {need / GIB:.1f} GiB a GPU, "
                    f"{capacity / GIB:.1f} GiB may be used"
                )
    return ""
