"""`dse schedule FILE`: whether a schedule from any source is valid, its time, and how good it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.settings.values import number, one_of, whole
from dse.base.texts import counted, pairs
from dse.collectives.problem.arguments import NETWORK_KEYS, PROBLEM_KEYS
from dse.collectives.problem.collective import Collective
from dse.commands.cli import reading
from dse.studies.composed import system_of

if TYPE_CHECKING:
    from dse.base.cancellation import Deadline
    from dse.collectives.problem.recorded_sends import SendTable

_MOST_SHOWN = 20
COMMAND = CommandLine(
    "schedule",
    "Check a schedule against its topology: every link, every chunk, every contribution; print its time, "
    "lower bounds, the gap to the best of them, and the rules that are broken, first ones first.",
    words={
        "FILE": ".csv, .jsonl or .parquet, or a folder of dse synthesize, which says all keys itself; or a "
        "program of a runtime: MSCCL's .xml, MSCCL++'s .json"
    },
    keys={
        "network": NETWORK_KEYS,
        "problem": PROBLEM_KEYS,
        "check": {
            "time_limit_s": "seconds for making a named network and for the bounds; the check is always "
            "whole (default: none)",
            "slack_ps": "tolerated rounding of the times of a foreign file (default 0)",
            "limits": "of an .xml: those of msccl-executor (default), rccl or msccl",
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
    path = Path(arguments.words[0])
    if path.suffix in (".xml", ".json") and not path.is_dir():
        data = _run(path, values, arguments.overrides)
        print(json.dumps(data, indent=2) if form == "json" else _run_text(data))
        return 0 if data["valid"] else 1
    if "limits" in values:
        raise InputError(f"limits={values['limits']} has no effect on {path}; it is for an .xml of MSCCL")
    for key in ("format", "slack_ps", "time_limit_s"):
        values.pop(key, None)
    deadline = Deadline.after(limit_s)
    data = _judged(path, values, arguments.overrides, slack_ps, deadline)
    print(json.dumps(data, indent=2) if form == "json" else _text(data))
    return 0 if data["valid"] else 1


def _run(path: Path, values: dict[str, str], overrides: Sequence[str]) -> dict[str, Any]:
    """Let an interpreter run the program of a runtime."""
    from dse.base.files import read_text
    from dse.collectives.interpret.limits import MSCCL_LIMITS
    from dse.collectives.interpret.msccl import interpret_msccl
    from dse.collectives.interpret.mscclpp import interpret_plan

    is_xml = path.suffix == ".xml"
    allowed = ("format", "root", "limits") if is_xml else ("format", "root")
    for key in (*(each for each in values if each not in allowed), *(each for each in overrides[:1])):
        shown = f"{key}={values[key]}" if key in values else key
        name = key.split("=")[0]
        raise InputError(f"{shown} has no effect on the program of a runtime; leave {name} out")
    limits = one_of(values, "limits", tuple(MSCCL_LIMITS))
    root = whole(values, "root", None, most=1 << 20)
    text = read_text(path, keeps_mark=is_xml)  # runtimes of MSCCL read no file that begins with one
    if is_xml:
        found = interpret_msccl(text, str(path), limits, root)
    else:
        found = interpret_plan(text, str(path), root or 0)
    return {
        "valid": not found.problems,
        "collective": found.coll,
        "npus": found.gpus,
        "steps": found.steps,
        "needs_a_slot": found.needs_a_slot,
        "switch_steps": found.switch_steps,
        "problems": list(found.problems),
    }


def _run_text(data: dict[str, Any]) -> str:
    rows = [("program", f"{data['collective']} on {data['npus']} GPUs, {data['steps']} steps")]
    if data["switch_steps"]:
        count = counted(data["switch_steps"], "operation")
        rows.append(("needs", f"NVLink switches that add and copy, sm_90 or later: {count}"))
    if data["valid"]:
        how = "one message in each queue" if data["needs_a_slot"] else "no message in any queue"
        return pairs([*rows, ("verdict", f"valid: right in every order, no race, ends with {how}")])
    rows.append(("verdict", f"invalid: {counted(len(data['problems']), 'problem')}; at most 20 are shown"))
    return pairs([*rows, *(("", problem) for problem in data["problems"])])


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
        "collective": problem.collective.kind,
        "npus": problem.graph.npus,
        "links": len(problem.graph),
        "sends": verdict.sends,
        "time_ps": verdict.time_ps,
        **_of_parts(problem.collective, file.sends, valid=count == 0),
        **bounds,
        "violation_count": count,
        "violations": found,
    }


def _of_parts(collective: Collective, sends: SendTable, *, valid: bool) -> dict[str, Any]:
    """Return the time of each of several collectives."""
    from dse.collectives.files.summary import parts_data

    if not valid or len(collective.parts) < 2:
        return {}
    return {"collectives": parts_data(collective, sends.chunk, sends.end_ps)}


def _text(data: dict[str, Any]) -> str:
    from dse.collectives.files.summary import bound_rows, duration, parts_rows

    what = f"{data['collective']} on {data['npus']} NPUs and {data['links']} links, {data['sends']} sends"
    rows = [("schedule", what), ("time", duration(data["time_ps"])), *parts_rows(data)]
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
