"""How fast a plan's job goes on without a node: by the plans for when one fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from dse.base.errors import InputError, NothingFits
from dse.planner.files.answer import read_answer
from dse.planner.problem.arguments import Asked
from dse.planner.problem.problem import PlanProblem, PlanResult
from dse.planner.questions.failures import replan
from dse.planner.questions.subsets import kind_of
from dse.planner.search.automatic import solve


def replanned_speeds(path: Path, asked_of_words: Callable[[Sequence[str]], Asked]) -> tuple[float, ...]:
    """Return the speed with one node fewer: the step of `dse plan … -o` over that of its fastest replan.

    It is that of the kind of node whose loss slows the plan most. With two nodes fewer the job waits.
    `asked_of_words` returns the question of the words after `dse plan`, which the file keeps.

    Raises:
        InputError: the file is no plan, or its words ask another question now.
        NothingFits: no plan is left.
    """
    answer = read_answer(path)
    if answer.plan is None:
        raise NothingFits(f"{path}: no plan fits, so there is none without a node")
    words = [str(word) for word in answer.document["provenance"].get("command", ())]
    asked = asked_of_words(words[2:])
    if asked.problem.cluster != answer.problem.cluster or asked.problem.gbs != answer.problem.gbs:
        raise InputError(f"{path}: its cluster or model has changed since; run {' '.join(words)} again")
    before = PlanResult("", "", None, 1, answer.plan, None, None, optimal=False, seconds=0.0)
    base_ms = answer.document["best"]["cost_ms"]

    def solved(problem: PlanProblem) -> PlanResult:
        return solve(asked.planner, problem, asked.cost_model, asked.limits)

    speeds = []
    kinds = [kind_of(host) for host in asked.problem.cluster.hosts]
    for kind in dict.fromkeys(kinds):
        fastest = replan(asked.problem, before, solved, kinds.index(kind)).fastest
        if fastest is None:
            raise NothingFits(f"{path}: without a node of {kind.type} no plan is left: write elastic=wait")
        speeds.append(min(1.0, base_ms / fastest.cost_ms))
    return (min(speeds),)
