"""`dse plan cluster=NAME model=NAME`: the best training plan for a cluster of several GPU types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dse.base.command_lines import Arguments, CommandLine
from dse.base.errors import InputError
from dse.base.signals import putting_away
from dse.base.suggestions import did_you_mean
from dse.commands.cli import read_arguments
from dse.commands.plan.files import (
    CHECK,
    EXPLAIN,
    HOSTS,
    PROFILES,
    REPORT,
    check,
    explain,
    hosts,
    profiles,
    report,
)
from dse.commands.plan.questions import QUESTION_LINES, answer
from dse.commands.plan.search import plan
from dse.commands.plan.shared import OUTPUT, PLAN_FORMATS
from dse.commands.plan.sweep import SWEEP, sweep
from dse.planner.problem.keys import CLUSTER_KEYS, COST_KEYS, GROUPS, OUTPUT_KEYS, SEARCH_KEYS

ACTIONS: Mapping[str, CommandLine] = {
    "check": CHECK,
    "explain": EXPLAIN,
    "report": REPORT,
    "profiles": PROFILES,
    "hosts": HOSTS,
    **QUESTION_LINES,
    "sweep": SWEEP,
}
COMMAND = CommandLine(
    "plan",
    "Search the best training plan on GPUs of several types: stages, their GPUs, data and tensor degrees, "
    "micro-batches and layers; with a bound on every plan. Or do what an action says; dse plan ACTION "
    "--help explains one.",
    words={name: line.about for name, line in ACTIONS.items()},
    least=0,
    most=0,
    keys={
        "cluster": CLUSTER_KEYS,
        "times and model": COST_KEYS,
        "search": SEARCH_KEYS,
        "output": OUTPUT_KEYS,
    },
    options=OUTPUT,
    groups=GROUPS,
    choices={"format": PLAN_FORMATS},
    synopsis=(
        "cluster=NAME model=NAME [KEY=VALUE ...] [-o FILE|DIR]",
        "hostfile=FILE clusterfile=FILE profiles=DIR [KEY=VALUE ...] [-o FILE|DIR]",
        "ACTION [KEY=VALUE ...]",
    ),
    example="cluster=a100_v100",
)
_WORK: Mapping[str, Callable[[Arguments, Sequence[str]], int]] = {
    "": plan,
    "check": check,
    "explain": explain,
    "report": report,
    "profiles": profiles,
    "hosts": hosts,
}


def main(argv: Sequence[str]) -> int:
    """Plan, or do what the first word says; return the exit code: 1 where there is no plan."""
    action = argv[0] if argv and "=" not in argv[0] and not argv[0].startswith("-") else ""
    if action and action not in ACTIONS:
        raise InputError(
            f"'{action}' is no action and no key; actions are {', '.join(ACTIONS)}, or write KEY=VALUE"
            f"{did_you_mean(action, ACTIONS)}"
        )
    rest = argv[1:] if action else argv
    arguments = read_arguments(ACTIONS[action] if action else COMMAND, rest)
    if arguments is None:
        return 0
    if action == "sweep":  # says itself how it goes on after a signal
        return sweep(arguments, rest)
    with putting_away("interrupted"):
        if action in QUESTION_LINES:
            return answer(action, arguments)
        return _WORK[action](arguments, rest)
