"""Training runs on subsets of the nodes: expected time and cost of each one's best plan, under failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.base.errors import InputError
from dse.base.settings.values import Values, one_of
from dse.base.units import format_count, format_time
from dse.inputs.accelerators import Accelerator, Cluster, TierSpec, cluster
from dse.planner.problem.problem import PlanProblem
from dse.planner.questions.subsets import Subset
from dse.prediction.runs.asked import ELASTIC, RUN_KEYS, AskedRun, asked_run
from dse.prediction.runs.columns import RUN_COLUMNS
from dse.prediction.runs.run import FailingJob
from dse.prediction.runs.settings import OBJECTIVES as RUN_OBJECTIVES
from dse.prediction.steps.plan import Plan

OBJECTIVES = tuple(name for name in RUN_OBJECTIVES if name != "energy")  # no phases of a plan are known


@dataclass(frozen=True)
class SubsetRun:
    """The expected run of a subset's best plan; `cost` None where prices are unknown."""

    time_s: float
    effective_ratio: float
    failures: float
    cost: float | None

    def figure(self, objective: str, *, plain: bool = False) -> float:
        """Return the time or the cost; with `plain` as if nothing failed, was written or stopped."""
        value = self.time_s if objective == "expected_time" else self.cost or 0.0
        return value * (self.effective_ratio if plain else 1.0)


def asked_of_values(values: Values, problem: PlanProblem) -> tuple[AskedRun | None, str]:
    """Return the run that keys of `RUN_OF_SUBSETS` describe, None without any, and the objective.

    Raises:
        InputError: a key is wrong, or the cluster or cost model cannot have runs.
    """
    objective = one_of(values, "objective", OBJECTIVES)
    given = {key: text for key, text in values.items() if key in RUN_OF_SUBSETS and key != "objective"}
    if not given:
        if objective != "step":
            raise InputError(f"objective is {objective}, but no run is asked for: write tokens=15T as well")
        return None, objective
    if problem.step_space is None:
        raise InputError(
            f"{next(iter(given))} needs a model's steps: write model=NAME without profiles, and cost=step"
        )
    sizes = {host.gpus for host in problem.cluster.hosts}
    if len(sizes) > 1:
        raise InputError(f"runs have nodes of one size; those of the cluster have {sorted(sizes)} GPUs")
    if objective == "cost" and not problem.cluster.price_per_hour:
        raise InputError("prices are unknown; write prices=[TYPE:NUMBER,...], a price for each type")
    return asked_run(given), objective


def run_of_subset(asked: AskedRun, subset: Subset) -> SubsetRun | None:
    """Return the run of a subset's best plan; None without a plan, or where the job makes no progress."""
    problem, step_ms = subset.problem, subset.step_ms
    assert problem.step_space is not None  # as `asked_of_values` saw to
    if step_ms is None:
        return None
    job = FailingJob(asked.question(problem.step_space.model, Plan(), _cluster(problem)))
    step_s = step_ms / 1000
    steps = np.array([[step_s, step_s, 0.0, np.nan, np.nan]])
    found = dict(zip(RUN_COLUMNS, job.columns(steps, 0.0, np.nan)[0].tolist(), strict=False))
    time_s, hourly = found["run_time_s"], problem.cluster.hourly_price
    if math.isnan(time_s):  # no progress
        return None
    cost = None if hourly is None else hourly * time_s / 3600
    return SubsetRun(time_s, found["run_effective_pct"] / 100, found["run_failures"], cost)


def _cluster(problem: PlanProblem) -> Cluster:
    """Return the nodes as those of one type: failures count nodes and GPUs, whichever they are.

    The type is that whose host copies a checkpoint most slowly.
    """
    assert problem.step_space is not None
    hosts, names = problem.cluster.hosts, problem.step_space.accelerators
    chips = [Accelerator.named(names[type_]) for type_ in problem.cluster.types]
    slowest = min(chips, key=lambda chip: chip.host_bandwidth_gbps)
    inside, outside = (min(getattr(host, key) for host in hosts) for key in ("intra_gbps", "inter_gbps"))
    tiers = (
        TierSpec("node", 0.0, bandwidth_gbps=inside),
        TierSpec("network", 0.0, bandwidth_gbps=outside / hosts[0].gpus),
    )
    return cluster("subset", slowest, len(hosts), hosts[0].gpus, tiers)


def run_entry(run: SubsetRun | None) -> dict[str, Any]:
    """Return a run as plain data."""
    names = ("run_time_s", "run_effective", "run_failures", "run_cost")
    if run is None:
        return dict.fromkeys(names)
    return dict(zip(names, (run.time_s, run.effective_ratio, run.failures, run.cost), strict=True))


def run_cells(entry: Mapping[str, Any]) -> list[str]:
    """Return the cells of a run under `RUN_HEADER`."""
    if entry["run_time_s"] is None:
        return ["-", "-", "-"]
    cost = entry["run_cost"]
    share = f"{100 * entry['run_effective']:.1f}"
    return [format_time(entry["run_time_s"]), share, "-" if cost is None else format_count(cost)]


RUN_HEADER = ("run", "effective %", "cost of run")


def effect_of_failures(
    subsets: Sequence[Subset], runs: Sequence[SubsetRun | None], objective: str
) -> list[str]:
    """Say whether failures change the best subset; nothing where the step decides, or no plan is found."""
    known = [(subset, run) for subset, run in zip(subsets, runs, strict=True) if run is not None]
    if objective == "step" or not known:
        return []
    best, plain = (
        min(known, key=lambda pair: pair[1].figure(objective, plain=is_plain)) for is_plain in (False, True)
    )
    if best[0] is plain[0]:
        return [f"without failures and checkpoints, {_nodes(best[0])} is the best, too"]
    said = [
        f"{_nodes(subset)} fails {run.failures:.3g} times and loses {100 * (1 - run.effective_ratio):.2g} %"
        for subset, run in (plain, best)
    ]
    return [f"failures change the best: {'; '.join(said)}"]


def _nodes(subset: Subset) -> str:
    return " + ".join(f"{count} {kind}" for kind, count in subset.nodes.items() if count)


# Types have prices; phases are not known, nor what a subset does with fewer nodes.
_NOT_OF_PLANS = ("price", "power", "host_w", "pue", "grid", *ELASTIC)
RUN_OF_SUBSETS = {
    "objective": "the order of subsets: step (default), expected_time or cost of a training run",
    **{key: meaning for key, meaning in RUN_KEYS.items() if key not in _NOT_OF_PLANS},
}
COUNTS = {"counts": "nodes of a kind that are tried: doubling (default: 0, 1, 2, 4, … and all) or all"}
GROW = {
    "kind": "kinds of nodes to add, such as A100 or [A100,V100] (default: each)",
    "nodes": "how many more, such as 1 or [1,2,4] (default 1)",
}
FAIL = {
    "host": "which fails: its number in the cluster, from 0, or its address (default: one of each kind)",
    "slack": "share by which the plan that keeps most may be slower than the fastest (default 0.05)",
}
QUESTIONS = {
    "prices": COUNTS,
    "subsets": {**COUNTS, **RUN_OF_SUBSETS},
    "front": COUNTS,
    "grow": GROW,
    "fail": FAIL,
}
