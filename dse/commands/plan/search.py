"""`dse plan KEY=VALUE ...`: search the best plan, print it and write it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments
from dse.base.errors import InputError
from dse.base.lazy import yaml
from dse.base.settings.values import whole
from dse.commands.cases import configuration
from dse.commands.cli import found_code, print_notes
from dse.commands.plan.shared import asked_for, stoppable, target_of

if TYPE_CHECKING:
    from dse.planner.problem.arguments import Asked
    from dse.planner.problem.problem import PlanResult
    from dse.planner.questions.training_plan import TrainingPlan


def plan(arguments: Arguments, argv: Sequence[str]) -> int:
    """Search, print and write; return the exit code."""
    from dse.planner.files.files import check_target, write_document
    from dse.planner.questions.simulated import simulated
    from dse.planner.questions.training_plan import TrainingPlan

    form = arguments.values.get("format", "table")
    target = target_of(arguments)
    if target is not None:
        check_target(target)
    timeline = _timeline_target(arguments)
    asked = asked_for(arguments)
    most = whole(arguments.values, "simulate", 0)
    if most > asked.limits.keep:
        raise InputError(
            f"simulate is {most}, but only the {asked.limits.keep} cheapest are kept; write top={most}"
        )
    if most and form == "csv" and (target is None or target.suffix == ".csv"):
        raise InputError(
            f"simulate={most} has no effect with format=csv, which has the stages of the best plan"
        )
    if (most or timeline is not None) and asked.cost_model == "step":
        key = "timeline" if timeline is not None else f"simulate={most}"
        raise InputError(
            f"{key} has no effect with cost=step, whose price has messages and waiting; write cost=strict"
        )
    if most or timeline is not None:
        from dse.planner.questions.simulation.network import require_network

        key = "timeline" if timeline is not None else f"simulate={most}"
        require_network(asked.problem, key)

    def work(solve: Any) -> tuple[PlanResult, Any]:
        result = solve(asked.problem)
        if not most or result.best is None:
            return result, None
        try:
            return result, simulated(asked.problem, result, most)
        except InputError as why:  # more GPUs than a simulation takes: the plans are found all the same
            refusals.append(f"not simulated: {why}")
            return result, None

    refusals: list[str] = []
    (result, simulation), was_cancelled = stoppable(work, asked)
    answer = TrainingPlan(asked, result)
    data = {
        **answer.document,
        "provenance": _provenance(argv, arguments, asked),
        **({"simulation": simulation} if simulation else {}),
    }
    notes = ["interrupted: this is the best so far"] if was_cancelled else []
    notes += [*answer.notes, *refusals]
    try:
        _print(form, data, answer)
    finally:  # also for who stops reading at the first line
        if target is not None:
            notes += [f"wrote {path}" for path in write_document(target, data)]
        if timeline is not None:
            notes.append(_drawn(asked, result, timeline))
    print_notes(notes)
    return found_code(result.best is not None)


def _print(form: str, data: dict[str, Any], answer: TrainingPlan) -> None:
    from dse.planner.files.files import json_text, stages_csv, yaml_text
    from dse.planner.questions.simulated import simulated_lines

    simulation = data.get("simulation")
    if form == "table":
        lines = simulated_lines(simulation) if simulation else []
        print("\n".join([answer.text(), *([""] * bool(lines)), *lines]))
    elif form == "csv":
        print(stages_csv(data), end="")
    else:
        plain = answer.data() | ({"simulation": simulation} if simulation else {})
        print(json_text(plain) if form == "json" else yaml_text(plain), end="\n" if form == "json" else "")
    sys.stdout.flush()


def _timeline_target(arguments: Arguments) -> Path | None:
    """The file for the timeline, checked before work goes into it."""
    from dse.base.files import check_output

    if "timeline" not in arguments.values:
        return None
    path = Path(arguments.values["timeline"]).expanduser()
    if not path.name.endswith((".json", ".json.gz")):
        raise InputError(f"timeline is '{path}'; it must end in .json or .json.gz")
    check_output(path, "timeline")
    return path


def _drawn(asked: Asked, result: PlanResult, path: Path) -> str:
    """Draw the best plan; return what was written, or why nothing."""
    from dse.answers.timelines.plan import plan_timeline
    from dse.planner.problem.costs import Infeasible

    if result.best is None:
        return f"no timeline was written into {path}: there is no plan"
    try:
        return f"wrote {path}: {plan_timeline(asked.problem, result.best, path).describe()}"
    except Infeasible as why:
        return f"no timeline was written into {path}: the best plan cannot be simulated: {why.reason}"


def _provenance(argv: Sequence[str], arguments: Arguments, asked: Asked) -> dict[str, Any]:

    from dse.studies.sweeps.provenance import provenance

    about: dict[str, Any] = yaml.safe_load(provenance(["dse", "plan", *argv], configuration(arguments), {}))
    del about["points"]
    return {"cluster": asked.cluster_name, "model": asked.model_name, **about}
