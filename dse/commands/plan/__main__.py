"""`dse plan cluster=NAME model=NAME`: the best training plan for a cluster of several GPU types."""

from __future__ import annotations

from collections.abc import Sequence

from dse.base.errors import InputError
from dse.base.signals import putting_away
from dse.base.suggestions import did_you_mean
from dse.collectives.problem.arguments import usage_lines
from dse.commands.cli import called_as
from dse.commands.plan.files import check, explain, make, report
from dse.commands.plan.questions import answer
from dse.commands.plan.search import plan
from dse.commands.plan.shared import OPTIONS
from dse.commands.plan.sweep import sweep
from dse.planner.problem.keys import CLUSTER_KEYS, COST_KEYS, KEYS, OUTPUT_KEYS, SEARCH_KEYS

__all__ = ["KEYS", "OPTIONS", "main", "usage"]

ACTIONS = {
    "check": "FILE: replay a plan and its certificate (a file or folder of -o); exit code 1 if wrong",
    "explain": "FILE: why the plan of a file is the best: what binds, what others lose, what simulation adds",
    "report": "FILE: the page of the plan of a file: -o FILE.html",
    "profiles": "synthetic layer profiles, as Metis reads them: layers, batch, -o DIR",
    "hosts": "a host file and a cluster file, half of one type and half of another: gpus, -o DIR",
    "prices": "the nodes on which a step is cheapest, for every price of a GPU-hour: counts",
    "subsets": "the best plan for every subset of the nodes: counts",
    "front": "subsets worth it: none is as fast, cheap and roomy: counts",
    "grow": "what more nodes would bring: kind, nodes",
    "fail": "a node fails: the best plan of the rest, and the one that keeps most in place: host, slack",
    "sweep": "plans of all combinations of lists, as a study that goes on: study, executor, workers, address",
}
_USAGE = """\
usage: {program} cluster=NAME model=NAME [KEY=VALUE ...] [-o FILE|DIR]
       {program} hostfile=FILE clusterfile=FILE profiles=DIR [KEY=VALUE ...] [-o FILE|DIR]
       {program} ACTION [KEY=VALUE ...]

Search the best training plan on GPUs of several types: stages, their GPUs, data and tensor degrees,
micro-batches and layers; with a bound on every plan.

cluster:
{cluster}

times and model:
{costs}

search:
{search}

output:
{output}

actions:
{actions}

options: -o FILE  write the plan, its certificate and where it comes from: FILE.json, .yaml, .csv, .parquet,
                  .html (a page), or a folder with all of them"""


def usage() -> str:
    """The text of --help."""
    parts = {"cluster": CLUSTER_KEYS, "costs": COST_KEYS, "search": SEARCH_KEYS, "output": OUTPUT_KEYS}
    text = _USAGE.replace("{program}", called_as("plan")).replace("{actions}", usage_lines(ACTIONS))
    for name, keys in parts.items():
        text = text.replace(f"{{{name}}}", usage_lines(keys, 22))
    return text


def main(argv: Sequence[str]) -> int:
    """Plan, or do what the first word says; return the exit code: 1 where there is no plan.

    Raises:
        InputError: a wrong key, value or file.
    """
    if any(word in ("-h", "--help") for word in argv):
        print(usage())
        return 0
    action = argv[0] if argv and "=" not in argv[0] and not argv[0].startswith("-") else ""
    if action and action not in ACTIONS:
        raise InputError(
            f"'{action}' is no action and no key; actions are {', '.join(ACTIONS)}, or write KEY=VALUE"
            f"{did_you_mean(action, ACTIONS)}"
        )
    rest = argv[1:] if action else argv
    with putting_away("interrupted"):
        if action == "check":
            return check(rest)
        if action == "explain":
            return explain(rest)
        if action == "report":
            return report(rest)
        if action in ("profiles", "hosts"):
            return make(action, rest)
        if action == "sweep":
            return sweep(rest)
        return answer(action, rest) if action else plan(rest)
