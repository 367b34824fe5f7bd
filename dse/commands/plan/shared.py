"""Parts that all actions of `dse plan` share: their problem, formats, files, and the end by Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments, Option
from dse.base.settings.values import file
from dse.studies.composed import model_of, training_strategies

if TYPE_CHECKING:
    from dse.planner.problem.arguments import Asked
    from dse.planner.problem.problem import PlanResult

OUTPUT = {
    "--output": Option(
        "write the plan, its certificate and where it comes from: FILE.json, .yaml, .csv, .parquet, .html "
        "(a page), or a folder with all of them",
        "FILE",
        "-o",
    )
}
PLAN_FORMATS = ("table", "json", "yaml", "csv")


def asked_for(arguments: Arguments) -> Asked:
    """Return the problem that the keys describe."""
    from dse.planner.problem.arguments import asked_of

    return asked_of(arguments.values, arguments.overrides, model_of, training_strategies)


def is_json(arguments: Arguments) -> bool:
    """Whether JSON is asked for instead of text."""
    return arguments.values.get("format") == "json"


def target_of(arguments: Arguments) -> Path | None:
    """Return the path of -o, if there is one."""
    return file(arguments.options, "--output")


def stoppable(work: Callable[[Any], Any], asked: Asked) -> tuple[Any, bool]:
    """Work with what solves a problem; Ctrl-C ends a search in the engine, which keeps its best so far."""
    from dse.base.signals import raise_if_signalled
    from dse.planner.search.automatic import solve

    def solved(problem: Any) -> PlanResult:
        raise_if_signalled()
        return solve(asked.planner, problem, asked.cost_model, asked.limits)

    found = work(solved)
    try:
        raise_if_signalled()
    except KeyboardInterrupt:
        return found, True
    return found, False
