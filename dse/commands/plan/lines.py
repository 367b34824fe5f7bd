"""The command lines of `dse plan` and of its actions."""

from __future__ import annotations

from collections.abc import Mapping

from dse.base.command_lines import CommandLine
from dse.commands.plan.files import CHECK, EXPLAIN, HOSTS, PROFILES, REPORT
from dse.commands.plan.questions import QUESTION_LINES
from dse.commands.plan.shared import OUTPUT, PLAN_FORMATS
from dse.commands.plan.sweep import SWEEP
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
