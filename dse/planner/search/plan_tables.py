"""The walk over plans in the engine, and its table of plans as plans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dse.planner.problem.plan import ClusterPlan, PlanCost, StageCost
from dse.planner.search.engine_arrays import engine_problem

if TYPE_CHECKING:
    from dse.base.solvers import WalkResult
    from dse.planner.problem.problem import PlanProblem


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
