"""`dse plan sweep`: plans of all combinations of lists, as a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from dse.base.command_lines import Arguments, CommandLine
from dse.commands.cases import CHOICES, STUDY_KEYS, studied
from dse.commands.cli import print_json, print_notes
from dse.commands.plan.shared import is_json
from dse.planner.problem.keys import GROUPS, KEYS, OUTPUT_KEYS
from dse.studies.composed import model_of

SWEEP = CommandLine(
    "plan sweep",
    "Plans of all combinations of lists, as a study that goes on.",
    keys={
        "study": STUDY_KEYS,
        "plan": {key: text for key, text in KEYS.items() if key not in OUTPUT_KEYS or key == "format"},
    },
    groups=GROUPS,
    choices=CHOICES,
    example="study=NAME",
)


def sweep(arguments: Arguments, argv: Sequence[str]) -> int:
    """Plan what a study lacks, and print all rows that were asked for."""
    from dse.studies.plans import PlanEvaluator
    from dse.studies.plans.case import cases
    from dse.studies.plans.record import table_text

    values, older = _with_threads(arguments.values)
    asked = {key: value for key, value in values.items() if key not in STUDY_KEYS}
    wanted = cases(asked, arguments.overrides, model_of)
    command = ["dse", "plan", "sweep", *argv]
    planned, rows, notes = studied(
        PlanEvaluator(), wanted, replace(arguments, values=values), command, "plan"
    )
    if is_json(arguments):
        print_json([[asdict(row) for row in rows]])
    else:
        print(table_text(rows))
    print_notes([*older, *dict.fromkeys(note for case in planned for note in case.asked.notes), *notes])
    return 0


def _with_threads(values: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the values with an older spelling of `threads` replaced, and a note about it."""
    found = dict(values)
    if found.get("executor", "local") != "local" or "workers" not in found or "threads" in found:
        return found, []
    found["threads"] = found.pop("workers")
    return found, [f"workers={found['threads']} is threads={found['threads']} of executor=local now"]
