"""The checker's bounds of the relaxed problem equal a recursion over all covers of the layers."""

from __future__ import annotations

from functools import cache
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_problems import small_problem

from dse.planner.problem.problem import PlanProblem
from dse.planner.proofs.duals import RelaxedWays
from dse.planner.proofs.steps import Region, above
from dse.planner.proofs.ways import BestPlaces, WayMaker


def least_cover_ms(
    problem: PlanProblem, places: BestPlaces, batches: int, region: Region, prices: NDArray[np.float64]
) -> float:
    """Return the least time and price of all covers, stage by stage from the last one, without any table."""
    ways, kinds = WayMaker(problem, places, batches).ways()
    types, layers = len(problem.type_order), problem.layers
    fees = [float(way.use @ prices) for way in ways]

    @cache
    def covered(end: int, following: int, next_type: int) -> float:
        """Of layers [0, end) before so many stages; the type of the next is -1 if it is mixed or none."""
        if end == 0:
            return 0.0
        best = inf
        for way, kind, fee in zip(ways, kinds, fees, strict=True):
            type_ = kind % types if kind < 2 * types else -1
            is_same = following == 0 or next_type in (-1, type_)
            is_other = following == 0 or next_type != type_
            if type_ >= 0 and not (is_same if kind < types else is_other):
                continue
            for first in range(end):
                at = first, end
                fits = way.period_ms[at] <= above(region.period_high)
                fits &= way.tail_ms[at] <= above(region.tail_high)
                fits &= way.in_flight[at] >= min(following + 1, batches, layers)
                if fits and way.sum_ms[at] < inf:
                    best = min(best, way.sum_ms[at] + fee + covered(first, following + 1, type_))
        return best

    return covered(layers, 0, -1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_bounds_equal_a_recursion_over_covers(seed: int, draw: int) -> None:
    problem = small_problem(seed, False)
    random, places = np.random.default_rng(draw), BestPlaces(problem)
    batches = random.choice([each for each in range(1, problem.gbs + 1) if problem.gbs % each == 0])
    relaxed = RelaxedWays(problem, places, int(batches))
    longest, tail = random.uniform(0.1, 100.0, 2)
    region = Region(longest / 2, longest, tail / 3, tail)
    prices = random.uniform(0.0, 3 * longest, len(problem.type_order))
    cover = least_cover_ms(problem, places, int(batches), region, prices)
    fixed = (batches - 1) * region.period_low + region.tail_low
    fixed += batches * min(places.rule.batch_generator_ms(each) for each in problem.type_order)
    assert relaxed.bound_ms(region, prices) == pytest.approx(fixed + cover - prices.sum(), rel=1e-12)
