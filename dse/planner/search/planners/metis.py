"""Metis's walk and that of its fork: plans in their order, counts and compat costs to the last bit.

The walk over plans in the engine, and its table of plans as plans.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar

from dse.base.errors import InputError, SimulationTimeout
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem, PlanResult, StageCost
from dse.planner.search.engine_arrays import engine_problem
from dse.planner.search.planner import UNPROVEN, Limits, Planner

if TYPE_CHECKING:
    from dse.base.solvers import WalkResult


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


def walk(
    problem: PlanProblem,
    by_first_attempt: bool,
    keep: int | None = None,
    time_limit_s: float | None = None,
) -> WalkResult:
    """Walk every outer plan; `keep` cheapest plans are kept in the order of cost; None means all as emitted.

    With `by_first_attempt` the next step follows the memory of the first attempt (mode strat), else that
    after rebalancing (mode naive).

    Raises:
        InputError: the walk cannot start with this cluster, or a profile is missing.
        SimulationTimeout: the walk took longer than the limit.
    """
    from dse.base.solvers import walk_plans
    from dse.native._engine import Cancellation

    cancellation = None
    if time_limit_s is not None:
        cancellation = Cancellation().limited_to(
            time_limit_s, f"the walk took longer than {time_limit_s:g} s"
        )
    native = engine_problem(problem)
    return walk_plans(native, by_first_attempt, keep is None, keep or 0, cancellation)


class PlanRows:
    """The kept plans of a walk by row."""

    def __init__(self, problem: PlanProblem, result: WalkResult) -> None:
        """Copy the columns of the table."""
        table = result.table
        self._types = [
            tuple(problem.type_order[number] for number in sequence) for sequence in result.sequences
        ]
        self._generator_ms = problem.profiles.profiles[problem.profiles.first].batch_generator_ms
        self._begin: list[int] = table.stage_begin.tolist()
        self._sequence: list[int] = table.sequence.tolist()
        self._costed: list[int] = table.costed.tolist()
        self._attempt: list[int] = table.attempt.tolist()
        self._batches: list[int] = table.batches.tolist()
        self._delta: list[int] = table.delta.tolist()
        self._index: list[int] = table.index.tolist()
        self._cost_ms: list[float] = table.cost_ms.tolist()
        self._gap_ms: list[float] = table.gap_ms.tolist()
        self._group: list[int] = table.group.tolist()
        self._tp: list[int] = table.tp.tolist()
        self._end: list[int] = table.end.tolist()
        self._terms: list[tuple[float, float, float, float]] = list(
            zip(
                table.execution_ms.tolist(),
                table.link_ms.tolist(),
                table.reduction_ms.tolist(),
                table.update_ms.tolist(),
                strict=True,
            )
        )

    def __len__(self) -> int:
        """Return the number of plans that were kept."""
        return len(self._cost_ms)

    def __iter__(self) -> Iterator[ClusterPlan]:
        """Visit the plans in the order of the table."""
        return (self.plan(i) for i in range(len(self)))

    def index(self, row: int) -> int:
        """Return how many priced plans were emitted before this one."""
        return self._index[row]

    def plan(self, row: int) -> ClusterPlan:
        """Return the plan of a row."""
        stages = slice(self._begin[row], self._begin[row + 1])
        groups, degrees = tuple(self._group[stages]), self._tp[stages]
        return ClusterPlan(
            types=self._types[self._sequence[row]],
            groups=groups,
            strategies=tuple((gpus // tp, tp) for gpus, tp in zip(groups, degrees, strict=True)),
            batches=self._batches[row],
            partition=(0, *self._end[stages]),
            costed=self._costed[row],
            attempt=self._attempt[row],
            delta=self._delta[row],
        )

    def cost(self, row: int) -> PlanCost:
        """Return the cost of a row's plan, with the terms of its costed stages."""
        begin = self._begin[row]
        stages = tuple(StageCost(*terms) for terms in self._terms[begin : begin + self._costed[row]])
        batch_generator_ms = self._generator_ms * self._batches[row]
        return PlanCost(self._cost_ms[row], stages, self._gap_ms[row], batch_generator_ms)
