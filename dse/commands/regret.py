"""`dse regret results/SEARCHED truth=results/EXHAUSTIVE`: how far off the best a search ended."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dse.answers import ANSWER_COLUMNS, Group, apply_cap, study_cap
from dse.answers.caps import under
from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.expressions import Expression
from dse.base.settings.values import file
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    JSON,
    asked_cap,
    print_json,
    print_notes,
    reading,
    without_cap,
    write_csv,
)
from dse.studies.store import StudyStore

if TYPE_CHECKING:
    from dse.answers.regret import Regret


COMMAND = CommandLine(
    "regret",
    "Compare the best point of a searched study with the best of its whole space.",
    words={"STUDY": "the folder of the searched study"},
    keys={
        "keys": {
            "truth": "a study with every point of its space",
            "objective": "what was minimised, an expression over numeric columns (default wall_time_ns)",
            **CAP,
            "csv": "write the answers to this CSV file as well",
        }
    },
    options={**without_cap("only without a cap"), **JSON},
    exclusive=(CAP_OR_NONE,),
    example="truth=results/exhaustive",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the regret with and without the cap for each group of the study; return the exit code."""
    if "truth" not in arguments.values:
        raise InputError("truth is missing; write truth=STUDY, a study with every point of its space")
    objective, csv = arguments.values.get("objective", "wall_time_ns"), file(arguments.values, "csv")
    asked = asked_cap(arguments)
    from dse.answers.regret import by_group, regret
    from dse.studies.search.goals import numeric_columns

    goal = Expression(objective, numeric_columns(), "objective")
    searched = StudyStore(arguments.words[0])
    columns = list(dict.fromkeys(["key", *ANSWER_COLUMNS, *goal.names_used]))
    found, truth = (store.read_table(columns) for store in (searched, StudyStore(arguments.values["truth"])))
    regret(found, truth, objective)  # refuses points that the truth lacks
    parts = by_group(found, truth)
    caps, notes = apply_cap([whole for _, whole in parts], study_cap(asked, searched))
    print_notes(notes)
    answers = []
    for (some, whole), cap in zip(parts, caps, strict=True):
        for limit in dict.fromkeys((None, cap)):
            answers.append((some, limit, regret(some.table, whole.table, objective, limit)))
    rows = [_plain(*answer) for answer in answers]
    if csv is not None:
        write_csv(csv, rows, ["title"])
    if "--json" in arguments.options:
        print_json(rows)
    else:
        print(f"{objective}: {found.num_rows} of {truth.num_rows} points evaluated")
        print("\n".join(_line(*answer) for answer in answers))
    return 0


def _plain(group: Group, cap: int | None, answer: Regret) -> dict[str, object]:
    return {"title": group.title, "memory_cap_bytes": cap, **asdict(answer)}


def _line(group: Group, cap: int | None, answer: Regret) -> str:
    what = f"{group.title}, {group.fidelity}, {under(cap)}"
    if answer.best_value is None:
        return f"{what}: no point is ok and fits"
    if answer.found_value is None:
        return f"{what}: nothing found, the best is {answer.best_value:.10g}"
    percent = "-" if answer.relative is None else f"{100 * answer.relative:.2f} %"
    return f"{what}: regret {percent} (found {answer.found_value:.10g}, best {answer.best_value:.10g})"
