"""The question of `dse plan`: the plan that trains a model on a mixed cluster in the least time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dse.base.displays import Displayed
from dse.base.lazy import pd
from dse.planner.files.files import STAGE_COLUMNS, stage_rows
from dse.planner.files.output import result_text
from dse.planner.files.records import document, gap_of, result_to_plain
from dse.planner.problem.arguments import Asked
from dse.planner.problem.problem import ClusterPlan, PlanResult
from dse.planner.search.automatic import planner_for, solve


def planned(asked: Asked) -> TrainingPlan:
    """Search the best plan of a question.

    Raises:
        InputError: the planner cannot search under the cost model, or its best plan would take no time.
    """
    return TrainingPlan(asked, solve(asked.planner, asked.problem, asked.cost_model, asked.limits))


@dataclass(frozen=True, repr=False, eq=False)
class TrainingPlan(Displayed):
    """The best plan for a mixed cluster, or reasons why nothing fits; times are in ms.

    `asked` is the question with its cluster and layer times, `result` all that the planner answers.
    """

    asked: Asked
    result: PlanResult

    @property
    def best(self) -> ClusterPlan | None:
        """The plan; None means that nothing fits."""
        return self.result.best

    @property
    def step_ms(self) -> float | None:
        """The time of a training step; None means that nothing fits."""
        return None if self.result.cost is None else self.result.cost.cost_ms

    @property
    def bound_ms(self) -> float | None:
        """A time that no plan of the space beats; None means that none is known."""
        return self.result.bound_ms

    @property
    def gap(self) -> float | None:
        """By what share of the bound the plan takes longer than it; None without either."""
        return gap_of(self.result)

    @property
    def is_optimal(self) -> bool:
        """Whether the plan is proven to be the fastest of its space."""
        return self.result.optimal

    @property
    def planner(self) -> str:
        """The search that has the answer."""
        return self.result.planner

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on keys without effect, and on a planner that another one replaced."""
        began = planner_for(self.asked.planner, self.asked.problem, self.asked.cost_model).name
        if self.planner == began:
            return self.asked.notes
        return (
            *self.asked.notes,
            f"planner={began} did not end within its limits: the plan and the bound are those of "
            f"planner={self.planner}",
        )

    def data(self) -> dict[str, Any]:
        """Return the answer as plain data, without the certificate."""
        return result_to_plain(self.asked.problem, self.result)

    def text(self) -> str:
        """Return the answer as `dse plan` prints it."""
        return result_text(self.document, self.asked.cluster_name, self.asked.model_name)

    def to_pandas(self) -> pd.DataFrame:
        """Return a row per stage of the best plan; no row where nothing fits."""
        rows: pd.DataFrame = pd.DataFrame(stage_rows(self.document), columns=list(STAGE_COLUMNS))
        return rows

    @cached_property
    def document(self) -> dict[str, Any]:
        """All about the answer, as files of plans have it, but for its provenance."""
        return document(self.asked.problem, self.result, {})
