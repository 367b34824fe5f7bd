"""`dse schedule FILE`: whether a schedule from any source is valid, its time, and how good it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments, CommandLine
from dse.base.settings.values import number, whole
from dse.base.tables import pairs
from dse.collectives.problem.arguments import NETWORK_KEYS, PROBLEM_KEYS
from dse.commands.cli import reading
from dse.studies.composed import system_of

if TYPE_CHECKING:
    from dse.base.cancellation import Deadline

_MOST_SHOWN = 20
COMMAND = CommandLine(
    "schedule",
    "Check a schedule against its topology: every link, every chunk, every contribution; print its time, "
    "lower bounds, the gap to the best of them, and the rules that are broken, first ones first.",
    words={"FILE": ".csv, .jsonl or .parquet, or a folder of dse synthesize, which says all keys itself"},
    keys={
        "network": NETWORK_KEYS,
        "problem": PROBLEM_KEYS,
        "check": {
            "time_limit_s": "seconds for making a named network and for the bounds; the check is always "
            "whole (default: none)",
            "slack_ps": "tolerated rounding of the times of a foreign file (default 0)",
            "format": "table (default) or json",
        },
    },
    groups=("system",),
    choices={"format": ("table", "json")},
    example="topology=FILE.csv",
    ending="Exit code 0: valid; 1: invalid; 2: unreadable, or wrong keys.",
)


@reading(COMMAND)
def main(arguments: Arguments) -> int:
    """Print the verdict; return 0 if the schedule is valid, else 1."""
    from dse.base.cancellation import Deadline

    values = dict(arguments.values)
    form = values.get("format", "table")
    slack_ps = whole(values, "slack_ps", 0, most=10**12)
    limit_s = number(values, "time_limit_s", None, above=0)
    for key in ("format", "slack_ps", "time_limit_s"):
        values.pop(key, None)
    deadline = Deadline.after(limit_s)
    data = _judged(Path(arguments.words[0]), values, arguments.overrides, slack_ps, deadline)
    print(json.dumps(data, indent=2) if form == "json" else _text(data))
    return 0 if data["valid"] else 1


def _judged(
    path: Path, values: dict[str, str], overrides: Sequence[str], slack_ps: int, deadline: Deadline
) -> dict[str, Any]:
    from dse.collectives.bounds import lower_bounds
    from dse.collectives.check.checker import check_sends
    from dse.collectives.files.summary import bound_entries
    from dse.collectives.problem.of_schedule import given_problem, schedule_path

    path = schedule_path(path)
    system = (lambda: system_of(overrides)) if overrides else None
    file, problem = given_problem(path, values, system, deadline)
    verdict = check_sends(problem, file.sends, most=_MOST_SHOWN, slack_ps=slack_ps)
    found = [
        {"rule": violation.rule, "sends": list(violation.sends), "text": violation.text}
        for violation in verdict.violations
    ]
    count = verdict.count
    bounds = bound_entries(lower_bounds(problem, deadline), verdict.time_ps)
    if deadline.is_over and not bounds["optimal"]:
        bounds["bounds_are_cut"] = True
    if file.time_ps is not None and abs(file.time_ps - verdict.time_ps) > slack_ps:
        count += 1
        text = f"the file says {file.time_ps} ps, the last arrival is at {verdict.time_ps} ps"
        found.append({"rule": 0, "sends": [], "text": text})
    return {
        "valid": count == 0,
        "collective": problem.collective.name,
        "npus": problem.graph.npus,
        "links": len(problem.graph),
        "sends": verdict.sends,
        "time_ps": verdict.time_ps,
        **bounds,
        "violation_count": count,
        "violations": found,
    }


def _text(data: dict[str, Any]) -> str:
    from dse.collectives.files.summary import bound_rows, duration

    what = f"{data['collective']} on {data['npus']} NPUs and {data['links']} links, {data['sends']} sends"
    rows = [("schedule", what), ("time", duration(data["time_ps"]))]
    if data["valid"]:
        rows += bound_rows(data)
        rows += [
            ("" if i else "bounds", f"{name} {ps} ps") for i, (name, ps) in enumerate(data["bounds"].items())
        ]
        return pairs([*rows, ("verdict", "valid")])
    more = "" if data["violation_count"] == 1 else "s"
    rows.append(("verdict", f"invalid: {data['violation_count']} violation{more}"))
    for violation in data["violations"]:
        rule = f"rule {violation['rule']}: " if violation["rule"] else ""
        rows.append(("", f"{rule}{violation['text']}"))
    return pairs(rows)
