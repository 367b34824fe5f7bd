"""A plan's step by the engine, next to its price, and the effects between the two."""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.cancellation import current_cancellation
from dse.base.errors import SimulationError
from dse.native import _engine
from dse.planner.problem.costs import price
from dse.planner.problem.costs.rule import Infeasible
from dse.planner.problem.problem import ClusterPlan, PlanCost, PlanProblem
from dse.planner.questions.simulation.effects import (
    Effect,
    compat_steps,
    effects_of,
    pipeline_steps,
    whole_steps,
)
from dse.planner.questions.simulation.network import engine_network, npus_of
from dse.planner.questions.simulation.traces import NS_PER_MS, plan_workload
from dse.planner.questions.simulation.work import PlanWork, RunningRule, work_of
from dse.simulation.simulators import Recording
from dse.simulation.simulators.native import outcome_of
from dse.simulation.simulators.recording import recording_of


@dataclass(frozen=True)
class PlanSimulation:
    """A simulated step in ms next to its price.

    `price_ms` is None where the cost model refuses the plan, and `refused` says why. `effects` lead from the
    price to the step (empty without a price); `remainder_ms` is what they leave unexplained.
    `short_of_memory` names GPUs that have too little for the plan, which the simulation does not see.
    """

    plan: ClusterPlan
    cost_model: str
    step_ms: float
    price_ms: float | None
    effects: tuple[Effect, ...] = ()
    remainder_ms: float = 0.0
    refused: str = ""
    short_of_memory: str = ""
    notes: tuple[str, ...] = ()


class PlanSimulator:
    """Simulates plans of one problem; remembers sums of profiles, and no plan."""

    def __init__(self, problem: PlanProblem, cost_model: str = "strict") -> None:
        self.problem = problem
        self.cost_model = cost_model
        self._rule = RunningRule(problem)

    def simulate(self, plan: ClusterPlan, *, explain: bool = True) -> PlanSimulation:
        """Simulate a plan; without `explain` there are no effects, which saves half of the time.

        Raises:
            Infeasible: the plan cannot be run at all: it loses layers or samples, or a profile is missing.
            InputError: there is no such cost model, or it cannot price plans of this cluster.
        """
        work = work_of(self.problem, plan, self._rule)
        workload = plan_workload(work, npus_of(work.ranks)).native
        result = self._run(work, workload, is_contended=True)
        step_ms = max(each.finish_ns for each in result.classes) / NS_PER_MS
        cost, refused = self._price(plan)
        effects: tuple[Effect, ...] = ()
        remainder = 0.0
        if explain and cost is not None:
            alone = self._run(work, workload, is_contended=False)
            alone_ms = max(each.finish_ns for each in alone.classes) / NS_PER_MS
            effects, remainder = _explained(cost, work, alone_ms, step_ms, self.cost_model)
        return PlanSimulation(
            plan,
            self.cost_model,
            step_ms,
            None if cost is None else cost.cost_ms,
            effects,
            remainder,
            refused,
            work.short_of_memory,
            work.notes,
        )

    def record(self, plan: ClusterPlan) -> tuple[Recording, dict[int, str]]:
        """Simulate a plan and keep what happened when, on a GPU of each type in each stage, and its title.

        It is the first GPU of the first replica of that type.

        Raises:
            Infeasible: as `simulate`.
        """
        work = work_of(self.problem, plan, self._rule)
        titles = {}
        for stage in work.stages:
            for kind in reversed(stage.types):
                replica = next(
                    each
                    for each in stage.replicas
                    if kind in work.ranks.types[each.ranks.start : each.ranks.stop]
                )
                degrees = f"{len(stage.replicas)} x {stage.tp}"
                layers = f"layers {stage.layers[0]} to {stage.layers[1] - 1}"
                title = f"stage {stage.number}, {kind} {degrees}, {layers}: rank {replica.ranks.start}"
                titles[replica.ranks.start] = title
        recording = _engine.record(
            plan_workload(work, npus_of(work.ranks)).native,
            engine_network(work.ranks, work.between_islands_gbps, is_contended=True),
            _engine.Method.GENERAL,
            list(titles),
            False,
            current_cancellation(),
        )
        return recording_of(recording, outcome_of(recording.result, has_memory=False), None), titles

    def _price(self, plan: ClusterPlan) -> tuple[PlanCost | None, str]:
        try:
            return price(self.problem, plan, self.cost_model), ""
        except Infeasible as why:
            return None, why.reason

    def _run(
        self, work: PlanWork, workload: _engine.Workload, *, is_contended: bool
    ) -> _engine.SimulationResult:
        network = engine_network(work.ranks, work.between_islands_gbps, is_contended=is_contended)
        method = _engine.Method.GENERAL
        result = _engine.simulate(workload, network, method, current_cancellation())
        if result.deadlock:
            raise SimulationError(f"the plan cannot be simulated: {result.blocked[0].cause}")
        return result


def simulate(problem: PlanProblem, plan: ClusterPlan, cost_model: str = "strict") -> PlanSimulation:
    """Simulate a plan and say why its step differs from its price under a cost model.

    Raises:
        Infeasible: the plan cannot be run at all: it loses layers or samples, or a profile is missing.
        InputError: there is no such cost model, or it cannot price plans of this cluster.
    """
    return PlanSimulator(problem, cost_model).simulate(plan)


def _explained(
    cost: PlanCost, work: PlanWork, alone_ms: float, step_ms: float, cost_model: str
) -> tuple[tuple[Effect, ...], float]:
    """Return the effects from the price to the step, and what they leave."""
    steps = [*pipeline_steps(work), *whole_steps(work)]
    if cost_model == "compat":
        steps = [*compat_steps(cost, work), *steps]
    effects = effects_of(cost.cost_ms, steps)
    return (*effects, Effect("contention", step_ms - alone_ms)), alone_ms - steps[-1][1]
