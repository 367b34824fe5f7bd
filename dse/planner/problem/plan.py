"""One plan for a mixed cluster, and what a planner answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ClusterPlan:
    """Stages on consecutive ranks; ranks are dealt out type by type in the order of `types`.

    `groups` are the GPUs of each stage, `strategies` its (dp, tp), `batches` the micro-batches of a step, and
    `partition` has a bound more than there are stages: stage i (from 0) has layers partition[i] up to, not
    including, partition[i + 1]. `costed` stages count in the cost: all, but for truncated plans of the walk.
    `attempt` and `delta` are the walk's: partition attempt, and what the plan adds to the count.

    Plans priced by the model of a step also have `ways`, how each stage runs its layers
    (`dse.planner.problem.steps.way_words`), and `starts`, the first rank of each stage: ranks between may be
    idle. The ways of a plan for equal stages are the same words, with pp, and all else that a sweep says.
    """

    types: tuple[str, ...]
    groups: tuple[int, ...]
    strategies: tuple[tuple[int, int], ...]
    batches: int
    partition: tuple[int, ...]
    costed: int
    attempt: int = 1
    delta: int = 0
    ways: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()


@dataclass(frozen=True)
class StageCost:
    """Cost terms of a stage in ms: all micro-batches share `execution_ms`, the others occur as named."""

    execution_ms: float
    link_ms: float
    reduction_ms: float
    update_ms: float
    memory_bytes: tuple[float, ...] = ()
    """Per GPU of the stage, in rank order; empty under the compat cost, which knows no memory of one GPU."""


@dataclass(frozen=True)
class PlanCost:
    """The cost of a plan: the step in ms, and its terms per costed stage."""

    cost_ms: float
    stages: tuple[StageCost, ...]
    gap_ms: float
    batch_generator_ms: float
    parts: tuple[tuple[str, float], ...] = ()
    """The parts of a step that the model of a step prices, in ms."""


@dataclass(frozen=True)
class PlanResult:
    """A planner's answer.

    `count` is what the walk counts (None if not a walk); `plans` the number of plans that were priced; `best`
    None where nothing fits. `bound_ms` is a proven lower bound on every plan of the space (None if none is
    known), `optimal` whether the best is proven to be one. `ranking` holds the cheapest plans in order, the
    best first. `infeasible` counts reasons why parts of the space fell out. `certificate` is plain data for
    `dse.planner.proofs.certificate`.
    """

    planner: str
    cost_model: str
    count: int | None
    plans: int
    best: ClusterPlan | None
    cost: PlanCost | None
    bound_ms: float | None
    optimal: bool
    seconds: float
    ranking: tuple[tuple[float, ClusterPlan], ...] = ()
    infeasible: Mapping[str, int] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    homogeneous: tuple[tuple[float, ClusterPlan], ...] = ()
    """Under cost=step, the fastest plan of a sweep over each type alone, with its cost in ms."""
