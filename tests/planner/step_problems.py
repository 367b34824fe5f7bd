"""Small problems of cost=step: a model of a few layers on one or two types of GPUs."""

from __future__ import annotations

from dse.planner.problem.arguments import asked_of
from dse.planner.problem.problem import PlanProblem
from dse.studies.composed import model_of, training_strategies


def step_problem(*words: str, **values: str) -> PlanProblem:
    """Return the problem of words such as cluster=a100_v100 and values such as gbs=8."""
    asked = asked_of({"cost": "step", **values}, list(words), model_of, training_strategies)
    assert asked.cost_model == "step"
    return asked.problem


def small_step_problems() -> list[PlanProblem]:
    """Return problems that searches prove within a second."""
    nodes = ("cluster.nodes.0.count=1", "cluster.nodes.1.count=1")
    return [
        step_problem("cluster=a100_v100", *nodes, "model=tiny", gbs="8", max_tp="2"),
        step_problem("cluster=h100_a100", *nodes, "model=llama3_8b", "model.num_layers=4", gbs="16"),
        step_problem("cluster=h100_a100", *nodes, "model=glm_4_5_air", "model.num_layers=4", gbs="16"),
    ]
