"""The contract of a planner: a problem and a cost model in, the best plan it finds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dse.planner.problem.plan import PlanResult
from dse.planner.problem.problem import PlanProblem


@dataclass(frozen=True)
class Limits:
    """How far a planner may go: wall time in seconds (None means to the end), plans kept.

    `gap` is how far the best plan may be above the bound, as a share of it, for `anytime` to end; None means
    its own default.
    """

    time_limit_s: float | None = None
    keep: int = 10
    gap: float | None = None


class Planner(ABC):
    """A way to search plans. Implementations pass the contract suite of `dse.testing.planners`."""

    name: str
    """The name under which it is registered."""
    cost_models: tuple[str, ...]
    """Which of compat and strict it can search under."""

    def chosen(self, problem: PlanProblem, cost_model: str) -> Planner:  # noqa: ARG002 (for those that choose)
        """Return the planner that answers; a planner that chooses among others returns the one it takes."""
        return self

    @abstractmethod
    def plan(
        self,
        problem: PlanProblem,
        cost_model: str,
        limits: Limits,
        on_progress: Callable[[str], None] | None = None,
    ) -> PlanResult:
        """Search; plans that cannot run are counted with their reasons, never raised.

        Raises:
            InputError: the problem itself is wrong, or the planner cannot search under the cost model.
        """
