"""The best plans by price and plans next to them, simulated, in the order of their simulated steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dse.base.errors import InputError
from dse.planner.problem.costs import Infeasible, additive_rule
from dse.planner.problem.problem import ClusterPlan, PlanProblem, PlanResult
from dse.planner.questions.simulation.effects import Effect
from dse.planner.questions.simulation.neighbours import neighbours_of
from dse.planner.questions.simulation.simulate import PlanSimulation, PlanSimulator

WITHIN = 0.3
"""Plans up to this share above the best price are simulated, unless another share is given."""


@dataclass(frozen=True)
class Reranking:
    """Simulated plans, the shortest step first; those that do not fit into memory come after all others.

    `by_price` are the plans in the order of their price, as indices into `simulations`. `left_out` counts
    plans by the reason why they cannot be run.
    """

    simulations: tuple[PlanSimulation, ...]
    by_price: tuple[int, ...]
    within: float
    left_out: tuple[tuple[str, int], ...] = ()
    neighbours: int = 0
    """How many of the plans are no planner's, but neighbours of its plans."""

    @property
    def best(self) -> PlanSimulation | None:
        """The plan of the shortest simulated step; None if none can be run."""
        return self.simulations[0] if self.simulations else None

    @property
    def cheapest(self) -> PlanSimulation | None:
        """The cheapest plan of those that can be run."""
        return self.simulations[self.by_price[0]] if self.simulations else None

    @property
    def gained_ms(self) -> float:
        """By how much the best simulated step is shorter than that of the cheapest plan."""
        if self.best is None or self.cheapest is None:
            return 0.0
        return self.cheapest.step_ms - self.best.step_ms

    def reason(self) -> tuple[Effect, ...]:
        """The reasons why the best plan overtakes the cheapest: differences of effects, the largest first.

        Empty where the cheapest stays the best. They add up, with the difference of prices, to `gained_ms`.
        """
        if self.best is None or self.cheapest is None or self.best is self.cheapest:
            return ()
        first = {effect.name: effect.ms for effect in self.cheapest.effects}
        best = {effect.name: effect.ms for effect in self.best.effects}
        found = [Effect(name, first.get(name, 0.0) - ms) for name, ms in best.items()]
        return tuple(sorted((e for e in found if e.ms), key=lambda effect: -abs(effect.ms)))


def rerank(
    problem: PlanProblem,
    result: PlanResult,
    within: float = WITHIN,
    most: int | None = None,
    neighbours: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Reranking:
    """Simulate the plans of a result whose price is within a share of the best, `most` of them at most.

    A planner keeps as many plans as its `Limits.keep` says, and the exact one a plan of each type sequence,
    number of stages and of micro-batches, so this sees no others. With `neighbours` up to so many more plans
    are simulated: those next to the best one found so far (`dse.planner.questions.simulation.neighbours`), as
    long as their price is within the same share, until none is better.

    Raises:
        InputError: `within` or `neighbours` is negative.
    """
    if within < 0:
        raise InputError(f"within={within}: must be 0 or more, a share of the best price")
    if neighbours < 0:
        raise InputError(f"neighbours={neighbours}: must be 0 or more, plans to simulate")
    search = _Search(PlanSimulator(problem, result.cost_model), on_progress)
    ranking = result.ranking
    if not ranking and result.best is not None and result.cost is not None:
        ranking = ((result.cost.cost_ms, result.best),)
    if not ranking:
        return Reranking((), (), within)
    dearest = ranking[0][0] * (1 + within)
    for plan in [plan for cost, plan in ranking if cost <= dearest][:most]:
        search.visit(plan)
    own = len(search.priced)
    search.descend(dearest, neighbours)
    order = sorted(range(len(search.priced)), key=lambda i: _rank(search.priced[i]))
    place = {plan: rank for rank, plan in enumerate(order)}
    by_price = sorted(range(len(search.priced)), key=lambda i: (_price(search.priced[i]), i))
    return Reranking(
        tuple(search.priced[i] for i in order),
        tuple(place[i] for i in by_price),
        within,
        tuple(sorted(search.left_out.items())),
        len(search.priced) - own,
    )


def _rank(simulation: PlanSimulation) -> tuple[bool, float]:
    return bool(simulation.short_of_memory), simulation.step_ms


def _price(simulation: PlanSimulation) -> float:
    return math.inf if simulation.price_ms is None else simulation.price_ms


class _Search:
    """Plans that have been simulated, and what is next to the best of them."""

    def __init__(self, simulator: PlanSimulator, on_progress: Callable[[str], None] | None) -> None:
        self.priced: list[PlanSimulation] = []
        self.left_out: dict[str, int] = {}
        self._simulator = simulator
        self._on_progress = on_progress
        self._rule = additive_rule(simulator.problem, simulator.cost_model)
        self._seen: set[ClusterPlan] = set()

    def visit(self, plan: ClusterPlan) -> None:
        """Simulate a plan that was not simulated before."""
        plan = replace(plan, attempt=1, delta=0)  # these only count in the walk
        if plan in self._seen:
            return
        self._seen.add(plan)
        try:
            self.priced.append(self._simulator.simulate(plan))
        except Infeasible as why:
            self.left_out[why.kind] = self.left_out.get(why.kind, 0) + 1
        if self._on_progress is not None:
            self._on_progress(f"simulated {len(self.priced)} plans")

    def descend(self, dearest: float, most: int) -> None:
        """Go from the best plan to better neighbours, and on from there."""
        best = None
        while self.priced and most > 0:
            found = min(self.priced, key=_rank)
            if found is best:
                return
            best = found
            for plan in self._affordable(neighbours_of(self._simulator.problem, best.plan), dearest)[:most]:
                self.visit(plan)
                most -= 1

    def _affordable(self, plans: Iterable[ClusterPlan], dearest: float) -> list[ClusterPlan]:
        """The plans that are new and cost no more, the cheapest first."""
        found = []
        for number, plan in enumerate(plans):
            if plan in self._seen:
                continue
            try:
                cost = self._rule.price(plan).cost_ms
            except Infeasible:
                continue
            if cost <= dearest:
                found.append((cost, number, plan))
        return [plan for _, _, plan in sorted(found, key=lambda each: each[:2])]
