"""Searches of plans for mixed clusters, beside recorded figures of Metis, in loops of Python."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.cases import Cases
from benchmarks.measure import BenchmarkError, in_fresh_process
from benchmarks.memory import peak_bytes
from benchmarks.planning_cases import Planned
from benchmarks.references import planner_units
from benchmarks.synthesis import loop_s
from dse.planner.problem.costs import rule_named
from dse.planner.problem.inputs import read_cluster, read_profiles
from dse.planner.problem.inputs.synthetic import write_half_and_half, write_synthetic_profiles
from dse.planner.problem.problem import PlanProblem
from dse.planner.search.engine_arrays import plan_of
from dse.planner.search.planner import Limits
from dse.planner.search.planners import planner_named
from dse.planner.search.planners.exact import search_labels

Row = dict[str, str | int | float | bool | None]
_FIRST = "DeviceType.A100_tp1_bs16.json"


def planning(cases: Cases, repeats: int) -> Iterator[Row]:
    """Median CPU seconds of the search alone, and in units of the loop that runs right after each."""
    recorded = planner_units()
    for case in cases.planned:
        cost = in_fresh_process(planning_cost, case, repeats)
        if cost.count != case.count:
            raise BenchmarkError(f"{case.name}, {case.planner}: count {cost.count}, expected {case.count}")
        if case.best_ms not in (None, cost.best_ms):
            raise BenchmarkError(f"{case.name}, {case.planner}: {cost.best_ms} ms, expected {case.best_ms}")
        yield _row(case, cost, recorded.get((case.name, case.planner)))


class Cost(NamedTuple):
    """What a process measured: seconds per run, what was found, and its memory.

    Of `exact`, a search ends with the proven optimum and its price; a plan has its ranking, the reasons why
    parts of the space fall out, and its certificate too.
    """

    inputs_s: float
    search_s: list[float]
    plan_s: list[float]
    loop_s: list[float]
    count: int | None
    plans: int
    best_ms: float | None
    start_bytes: int
    peak_bytes: int


def planning_cost(case: Planned, repeats: int) -> Cost:
    """Make and read the inputs, and search `repeats` times, each followed by the loop."""
    began = time.process_time()
    problem = problem_of(case)
    inputs_s = time.process_time() - began
    planner = planner_named(case.planner)
    start = peak_bytes()
    searches, plans, loops = [], [], []
    for _ in range(repeats):
        began = time.process_time()
        found = planner.plan(problem, "compat", Limits(keep=10))
        plans.append(time.process_time() - began)
        searches.append(_optimum_s(problem) if case.planner == "exact" else plans[-1])
        loops.append(loop_s())
    best_ms = found.cost.cost_ms if found.cost else None
    return Cost(inputs_s, searches, plans, loops, found.count, found.plans, best_ms, start, peak_bytes())


def _optimum_s(problem: PlanProblem) -> float:
    began = time.process_time()
    found, _, _, complete, _ = search_labels(problem, "compat", 1, None)
    rule_named(problem, "compat").price(plan_of(problem, *found[0][1:]))
    took = time.process_time() - began
    if not complete:
        raise BenchmarkError("the exact search was not complete")
    return took


def problem_of(case: Planned) -> PlanProblem:
    """Return the problem of a half-and-half cluster with synthetic profiles, made in files and read again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_synthetic_profiles(folder / "profiles", case.layers)
        write_half_and_half(folder / "hostfile", folder / "clusterfile.json", case.gpus)
        cluster = read_cluster(folder / "hostfile", folder / "clusterfile.json", compat=True)
        profiles = read_profiles([folder / "profiles"], _FIRST, compat=True)
    return PlanProblem(cluster, profiles, ("A100", "V100"), allow_mixed_stages=case.mixed)


def _row(case: Planned, cost: Cost, reference_units: float | None) -> Row:
    units = statistics.median(search / loop for search, loop in zip(cost.search_s, cost.loop_s, strict=True))
    return {
        "name": case.name,
        "planner": case.planner,
        "layers": case.layers,
        "gpus": case.gpus,
        "mixed": case.mixed,
        "repeats": len(cost.search_s),
        "inputs_s": cost.inputs_s,
        "search_s": statistics.median(cost.search_s),
        "plan_s": statistics.median(cost.plan_s),
        "loop_s": statistics.median(cost.loop_s),
        "units": units,
        "count": cost.count,
        "plans": cost.plans,
        "best_ms": cost.best_ms,
        "start_bytes": cost.start_bytes,
        "peak_bytes": cost.peak_bytes,
        "reference_units": reference_units,
        "ratio": reference_units / units if reference_units else None,
        "target_ratio": case.target_ratio,
        "target_s": case.target_s,
    }
