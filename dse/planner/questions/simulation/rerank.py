"""The best plans by price, simulated, in the order of their simulated steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dse.planner.problem.costs import Infeasible
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.questions.simulation.effects import Effect
from dse.planner.questions.simulation.simulate import PlanSimulation, PlanSimulator


@dataclass(frozen=True)
class Reranking:
    """Simulated plans, the shortest step first; those that do not fit into memory come after all others.

    `by_price` are the plans in the order of their price, as indices into `simulations`. `left_out` counts
    plans by the reason why they cannot be run.
    """

    simulations: tuple[PlanSimulation, ...]
    by_price: tuple[int, ...]
    left_out: tuple[tuple[str, int], ...] = ()

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


def rerank(problem: PlanProblem, result: PlanResult, most: int | None = None) -> Reranking:
    """Simulate the plans of a result, the `most` cheapest of them; None means all.

    A planner keeps as many plans as its `Limits.keep` says, and the exact one a plan of each type sequence,
    number of stages and of micro-batches, so this sees no others.
    """
    simulator = PlanSimulator(problem, result.cost_model)
    ranking = result.ranking
    if not ranking and result.best is not None and result.cost is not None:
        ranking = ((result.cost.cost_ms, result.best),)
    priced: list[PlanSimulation] = []
    left_out: dict[str, int] = {}
    # Attempt and delta only count in the walk.
    for plan in dict.fromkeys(replace(plan, attempt=1, delta=0) for _, plan in ranking[:most]):
        try:
            priced.append(simulator.simulate(plan))
        except Infeasible as why:
            left_out[why.kind] = left_out.get(why.kind, 0) + 1
    order = sorted(range(len(priced)), key=lambda i: _rank(priced[i]))
    place = {plan: rank for rank, plan in enumerate(order)}
    by_price = sorted(range(len(priced)), key=lambda i: (_price(priced[i]), i))
    return Reranking(
        tuple(priced[i] for i in order),
        tuple(place[i] for i in by_price),
        tuple(sorted(left_out.items())),
    )


def _rank(simulation: PlanSimulation) -> tuple[bool, float]:
    return bool(simulation.short_of_memory), simulation.step_ms


def _price(simulation: PlanSimulation) -> float:
    return math.inf if simulation.price_ms is None else simulation.price_ms
