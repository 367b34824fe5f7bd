"""The plans that the space leaves out, by name: a plan proven best in it may be slower than one outside."""

from __future__ import annotations

from dse.planner.problem.problem import PlanProblem

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
