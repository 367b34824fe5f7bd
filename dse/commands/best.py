"""`dse best results/<study>`: the best strategies of a study, for one cap or for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.errors import InputError
from dse.base.files import check_output
from dse.base.settings.values import entries, file, one_of, whole
from dse.commands.cli import (
    CAP,
    CAP_OR_NONE,
    GROUP,
    JSON,
    STUDY,
    asked_cap,
    print_json,
    print_notes,
    reading,
    without_cap,
    write_csv,
)
from dse.commands.stored_runs import answered
from dse.prediction.runs.settings import OBJECTIVES

if TYPE_CHECKING:
    from dse.answers import Cap


COMMAND = CommandLine(
    "best",
    "Name the fastest strategy of a study, its runner-up, and the same under a memory cap, for every model, "
    "system and number of NPUs; or the best for every cap, the Pareto front, or the best few.",
    words=STUDY,
    keys={
        "keys": {
            **CAP,
            "top": "as many of the fastest points of every group",
            "objective": "step, expected_time, cost or energy: the last three name the best runs over all "
            "systems and sizes (default: that of the latest sweep)",
            "cost": "a third column of --pareto, such as 'npus * wall_time_ns'",
            "by": "split every group by the values of columns, such as tp,system.faults",
            **GROUP,
            "where": 'only these rows, such as "tp <= 8 and pp = 1"',
            "csv": "write the points to this CSV file as well",
        }
    },
    options={
        **without_cap("only the best of all; for top the fastest of all"),
        "--caps": Option("the best point for every memory cap, as steps"),
        "--pareto": Option(
            "the points that no other one beats in both time and memory; of those under memory_cap"
        ),
        "--mixed": Option(
            "one group of all points: let different models, systems and numbers of NPUs compete"
        ),
        "--exact": Option("wall times in ns and peaks in bytes, as JSON and CSV have them"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("--caps", "--pareto", "top")),
    ending="Columns are listed in docs/results.md; fields of model and system are columns too: "
    "model.seq_len, system.network.0.bandwidth_gbps. Conditions are written as in SQL.",
)


def checked(arguments: Arguments) -> Cap | None:
    """Return the cap that the arguments ask for.

    Raises:
        InputError: keys or options that do not belong together, or a cap without a unit.
    """
    values, options = arguments.values, arguments.options
    if "cost" in values and "--pareto" not in options:
        raise InputError("cost is a column of the Pareto front; write --pareto too")
    if "--exact" in options and "--json" in options:
        raise InputError("--exact is for the table; --json is exact without it")
    if "--mixed" in options and "group" in values:
        raise InputError("--mixed makes one group of all points, so group has no effect; leave one out")
    asked = asked_cap(arguments)
    if "--caps" in options and asked is not None:
        raise InputError(
            "--caps has the best point for every cap, so a cap has no effect; leave memory_cap and "
            "--no-memory-cap out, or ask for one cap without --caps"
        )
    if "--pareto" in options and "--no-memory-cap" in options:
        raise InputError("--pareto has no cap without memory_cap; leave --no-memory-cap out")
    return asked


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the answer; return the exit code."""
    if answered("best", arguments):
        return 0
    values, options = arguments.values, arguments.options
    asked = checked(arguments)
    objective = one_of(values, "objective", OBJECTIVES) if "objective" in values else None
    top, number = whole(values, "top", None, least=1, most=None), whole(values, "group", None)
    csv = file(values, "csv")
    from dse.answers import ANSWER_COLUMNS, Cap, study_cap, unfinished_note
    from dse.answers.tables import Answers, Question, answers_of
    from dse.studies.store import RowExpression, StudyStore, stored_columns
    from dse.studies.store.history import latest_objective

    if csv is not None:
        check_output(csv, "csv")
    where = [RowExpression(values["where"], "where")] if "where" in values else []
    cost = RowExpression(values["cost"], "cost") if "cost" in values else None
    question = Question(
        caps="--caps" in options,
        pareto="--pareto" in options,
        top=top,
        by=entries("by", values["by"]) if "by" in values else [],
        cost=cost,
        mixed="--mixed" in options,
        number=number,
        exact="--exact" in options,
        only_text="--json" not in options and csv is None,
    )
    used = [name for text in (*where, *([cost] if cost else [])) for name in text.columns]
    store = StudyStore(arguments.words[0])
    if question.is_plain:
        question = replace(question, objective=objective or latest_objective(store))
    elif objective is not None:
        raise InputError(
            "objective names the best runs of the whole study; leave it out, or --caps, --pareto, --mixed, "
            "top, by and group"
        )
    columns = stored_columns([*ANSWER_COLUMNS, *question.by, *used, *question.objective_columns])
    without_cap = question.caps or (question.pareto and asked is None)
    cap = Cap(None) if without_cap else study_cap(asked, store)

    def read() -> Answers:
        snapshot = store.snapshot(columns)
        table = snapshot.table
        for condition in where:
            table = condition.rows(table)
        return answers_of(snapshot, table, question, cap)

    answers = store.reading(read)
    missing = unfinished_note(store)
    print_notes(answers.notes)
    if csv is not None:
        write_csv(csv, answers.points, ["group", "label"])
    if "--json" in options:
        print_notes(missing)
        print_json(answers.data)
    else:
        print("".join(f"{sentence}\n\n" for sentence in missing), end="")
        print(
            "\n\n".join([*answers.texts, *filter(None, ["\n".join(answers.conventions)])]) or "no point is ok"
        )
    return 0
