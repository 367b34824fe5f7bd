"""`dse explain results/<study>`: why the winner wins, and what would make another one win."""

from __future__ import annotations

from dataclasses import replace

from dse.answers import subjects
from dse.answers.explain.answers import answer
from dse.base.command_lines import Arguments, CommandLine, Option
from dse.base.settings.values import whole
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
)
from dse.commands.stored_runs import answered
from dse.studies.store import StudyStore
from dse.studies.store.lookup import row_of_key

COMMAND = CommandLine(
    "explain",
    "Split the wall time of the best point of every model and system into parts that sum to it exactly, and "
    "its peak memory into categories; compare it with its runner-up; say what binds, and the smallest "
    "change of one input at which another strategy wins (docs/explain.md).",
    words=STUDY,
    keys={
        "keys": {
            "point": "explain this point instead: the first digits of its key",
            **GROUP,
            "versus": "compare with this point, by its key, instead of the runner-up",
            **CAP,
            "framework": "say the point in the settings of this framework, as of dse launch",
            "items": "operators of the peak to list (default 10)",
        }
    },
    options={
        **without_cap("the best of all"),
        "--no-switches": Option("do not look for changes; saves seconds"),
        **JSON,
    },
    exclusive=(CAP_OR_NONE, ("point", "group")),
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the explanations; return the exit code."""
    if answered("explain", arguments):
        return 0
    values = arguments.values
    items, number = whole(values, "items", 10), whole(values, "group", None)
    if "framework" in values:
        from dse.prediction.frameworks.dialect import FRAMEWORKS

        FRAMEWORKS.check(values["framework"])
    store = StudyStore(arguments.words[0])
    cap = asked_cap(arguments)
    found = subjects(store, cap, key=values.get("point"), number=number, with_candidates=True)
    entries = found.found
    if "versus" in values:
        other = row_of_key(store, values["versus"])
        entries = [replace(entry, runner_up=other) for entry in entries]
    print_notes(found.notes)
    answers = [
        answer(
            entry,
            items=items,
            with_switches="--no-switches" not in arguments.options,
            framework=values.get("framework", ""),
        )
        for entry in entries
    ]
    if "--json" in arguments.options:
        print_json([data for _, data in answers])
    else:
        print("\n\n\n".join(text for text, _ in answers))
    return 0
