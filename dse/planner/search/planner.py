"""The contract of a planner: a problem and a cost model in, the best plan it finds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from dse.planner.problem.costs import Infeasible, PricingRule
from dse.planner.problem.costs.rule import Placement
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.search.space import micro_batches, sequences, tensor_degrees


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


UNPROVEN = "the search found no plan, and does not prove that there is none"
"""The reason of a planner that looked at a part of the space only, and found nothing in it."""


def reasons_of(problem: PlanProblem, cost_model: str, rule: PricingRule, nothing: bool) -> dict[str, int]:
    """Count the shapes (type, group, degree, micro-batches) of one type that cannot run, by reason.

    Missing profiles are always named. Where `nothing` fits, also what a stage of one layer needs: the reason
    has type, degrees, batch, need and capacity.
    """
    reasons: dict[str, int] = {}
    types = sequences(problem)[0]
    ranks, start = rule.ranks(types), 0
    for type_ in types:
        owned = problem.cluster.gpus_of(type_)
        for batches in micro_batches(problem):
            gpus = 1
            while gpus <= owned:
                for tp in tensor_degrees(problem, cost_model, ranks, start, gpus, batches):
                    reason = _reason(
                        problem,
                        rule,
                        Placement(types, start, gpus, gpus // tp, tp, batches, (0, 1), 0, 0),
                        nothing,
                    )
                    if reason:
                        reasons[reason] = reasons.get(reason, 0) + 1
                gpus *= 2
        start += owned
    if nothing and not reasons:
        reasons["no arrangement of groups and layers fits"] = 1
    return dict(sorted(reasons.items()))


def _reason(problem: PlanProblem, rule: PricingRule, place: Placement, nothing: bool) -> str | None:
    try:
        rule.profile(
            rule.ranks(place.types).types[place.start], place.tp, problem.gbs // (place.dp * place.batches)
        )
        if nothing:
            for layer in range(problem.layers):
                rule.check_memory(place._replace(layers=(layer, layer + 1)))
    except Infeasible as why:
        return why.reason
    return None


_ZERO_1 = "ZeRO-1 (shard_optimizer=true has it)"
_ALWAYS = ("ZeRO-2 and ZeRO-3 (FSDP)", "interleaved stages")
_PREDICTED = ("sequence parallelism", "recomputation", "context parallelism")
"""Of files that name nothing."""
_MEASURED = ("ways to run a layer other than that of the profiles",)


_OF_STEPS = (
    "replicas of a stage that differ",
    "stages of several types",
    "interleaved stages of several types",
)


def excluded(problem: PlanProblem, cost_model: str) -> tuple[str, ...]:
    """Return the names of what no plan of the space does, what is used most first."""
    if cost_model == "step":
        return _OF_STEPS
    profiles = problem.profiles
    default = _PREDICTED if profiles.source in ("model", "calibrated") else _MEASURED
    layers = profiles.leaves_out or default
    updates = () if problem.shard_optimizer or cost_model == "compat" else (_ZERO_1,)
    return (*layers, *updates, *_ALWAYS)
