"""Metis's walk and that of its fork: plans in their order, counts and compat costs to the last bit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from dse.base.errors import InputError, SimulationTimeout
from dse.planner.problem.plan import PlanResult
from dse.planner.problem.problem import PlanProblem
from dse.planner.search.exclusions import UNPROVEN
from dse.planner.search.plan_tables import PlanRows, walk
from dse.planner.search.planner import Limits, Planner


class Metis(Planner):
    """The naive walk (Metis, USENIX ATC 2024): after a plan it follows the memory left after rebalancing."""

    name = "metis"
    cost_models = ("compat",)
    by_first_attempt: ClassVar[bool] = False

    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """Walk to the end: the best plan is the first of least cost.

        Raises:
            InputError: another cost model than compat, a cluster that the walk cannot start with, a missing
                profile, or a time limit that is too short: half a walk has no count.
        """
        if cost_model not in self.cost_models:
            raise InputError(f"cost={cost_model}: planner={self.name} prices plans by cost=compat only")
        start = time.perf_counter()
        try:
            result = walk(problem, self.by_first_attempt, keep=limits.keep, time_limit_s=limits.time_limit_s)
        except SimulationTimeout:
            raise InputError(
                f"planner={self.name} did not end within {limits.time_limit_s:g} s; raise the limit, or use "
                "planner=fast"
            ) from None
        if on_progress is not None:
            on_progress(f"{result.count} steps and attempts, {result.plans} plans priced")
        rows = PlanRows(problem, result)
        ranking = tuple((rows.cost(i).cost_ms, rows.plan(i)) for i in range(len(rows)))
        return PlanResult(
            planner=self.name,
            cost_model=cost_model,
            count=result.count,
            plans=result.plans,
            best=ranking[0][1] if ranking else None,
            cost=rows.cost(0) if ranking else None,
            bound_ms=None,
            optimal=False,
            seconds=time.perf_counter() - start,
            ranking=ranking,
            infeasible={
                **({"no price": result.unpriced} if result.unpriced else {}),
                **({} if ranking else {UNPROVEN: 1}),
            },
        )


class MetisStrat(Metis):
    """The fork's walk: the next step follows the memory of the first attempt, before rebalancing."""

    name = "metis-strat"
    by_first_attempt = True
