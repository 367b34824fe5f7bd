"""Answers that no step can have are refused, whatever planner and cost model give them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from small_problems import small_problem

from dse.base.errors import InputError
from dse.planner.search.automatic import solve, useful_bound
from dse.planner.search.planner import Limits


@pytest.mark.parametrize(
    ("planner", "cost_model"),
    [("metis", "compat"), ("exact", "compat"), ("exact", "strict"), ("fast", "strict")],
)
def test_a_time_of_0_or_less_is_no_answer(planner: str, cost_model: str) -> None:
    problem = small_problem(2, compat=True)
    below = {key: replace(one, gap_ms=-1e6) for key, one in problem.profiles.profiles.items()}
    wrong = replace(problem, profiles=replace(problem.profiles, profiles=below))
    assert solve(planner, problem, cost_model, Limits()).cost is not None
    with pytest.raises(InputError, match=r"the best plan would take -[0-9.e+]+ ms, which no step does"):
        solve(planner, wrong, cost_model, Limits())


def test_a_bound_of_0_or_less_says_nothing() -> None:
    assert [useful_bound(bound) for bound in (None, -3.0, 0.0, 2.5)] == [None, None, None, 2.5]
