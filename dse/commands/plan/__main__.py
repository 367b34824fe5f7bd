"""`dse plan cluster=NAME model=NAME`: the best training plan for a cluster of several GPU types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dse.base.command_lines import Arguments
from dse.base.errors import InputError, did_you_mean
from dse.base.signals import putting_away
from dse.commands.cli import read_arguments
from dse.commands.plan.files import check, explain, hosts, profiles, report
from dse.commands.plan.lines import ACTIONS, COMMAND
from dse.commands.plan.questions import QUESTION_LINES, answer
from dse.commands.plan.search import plan
from dse.commands.plan.sweep import sweep

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
