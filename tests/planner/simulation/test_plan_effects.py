"""Between the price of a plan and its simulated step there are named effects, and nothing else."""

from __future__ import annotations

import itertools

import pytest
from random_plans import feasible_plans

from dse.planner.questions.simulation import MEANINGS, PlanSimulation, simulate

PLANS = 120
NEVER_LONGER = (
    "gap beside other stages",
    "early reductions",
    "messages beside computation",
    "replicas",
    "own links",
)
"""Effects that let passes start earlier, and so never make a step longer (gaps of a profile may be negative:
then the first one may; own links as long as links inside hosts are the fastest)."""
NEVER_SHORTER = ("one message at a time",)
_ROUNDING_MS = 1e-9


def simulations(cost_model: str, seed: int) -> list[PlanSimulation]:
    plans = itertools.islice(feasible_plans(seed, cost_model), PLANS)
    return [simulate(problem, plan, cost_model) for problem, plan in plans]


@pytest.mark.parametrize(("cost_model", "seed"), [("strict", 1), ("compat", 2)])
def test_effects_explain_the_whole_difference(cost_model: str, seed: int) -> None:
    seen = set()
    for simulation in simulations(cost_model, seed):
        assert simulation.price_ms is not None
        explained = sum(effect.ms for effect in simulation.effects)
        # The recursion with every effect but contention equals the engine to the nanosecond.
        assert abs(simulation.remainder_ms) < _ROUNDING_MS
        assert simulation.step_ms - simulation.price_ms == pytest.approx(explained, abs=1e-6)
        for effect in simulation.effects:
            seen |= {effect.name} if abs(effect.ms) > 1e-3 else set()
            if effect.name in NEVER_LONGER:
                assert effect.ms <= _ROUNDING_MS, effect
            if effect.name in NEVER_SHORTER:
                assert effect.ms >= -_ROUNDING_MS, effect
            if effect.name == "rounding":
                assert abs(effect.ms) < 1e-3, effect
        # Whatever waits for a link or a slot only waits: together they never shorten a step.
        waits = [e.ms for e in simulation.effects if e.name in ("one message at a time", "contention")]
        assert sum(waits) >= -_ROUNDING_MS
    both = {"pipeline order", "early reductions", "replicas", "own links", "rings", "contention"}
    assert both | ({"layer times"} if cost_model == "compat" else set()) <= seen <= set(MEANINGS)


def test_strict_prices_have_no_effects_of_their_terms() -> None:
    (simulation,) = [simulate(*each) for each in itertools.islice(feasible_plans(3), 1)]
    names = [effect.name for effect in simulation.effects]
    assert names == list(MEANINGS)[list(MEANINGS).index("pipeline order") :]
