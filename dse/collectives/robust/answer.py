"""A schedule's repair after a failure, and its time under links that vary.

Of many schedules the one that does best where links vary, not the one that is nominally the fastest.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from dse.collectives.check.checker import check
from dse.collectives.check.verdict import InvalidSchedule, require_valid
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.robust.failures import Failure, on_broken_graph
from dse.collectives.robust.repair import Repair, repair
from dse.collectives.robust.settings import Draws
from dse.collectives.robust.summary import (
    Rows,
    failure_rows,
    failures_summary,
    figures_summary,
    variance_rows,
    variance_summary,
)
from dse.collectives.robust.variance import compare, select, spread
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.synthesis import Result, made_by
from dse.collectives.search.synthesizers.base import (
    DEFAULT_EFFORT,
    Effort,
    Synthesis,
    Synthesizer,
    search_variants,
)
from dse.collectives.search.synthesizers.restarts import variants_for


@dataclass(frozen=True)
class Robust:
    """A result, with `failures` and `variance` of a summary, their rows, and the repaired schedule."""

    result: Result
    data: dict[str, Any] = field(default_factory=dict)
    rows: Rows = field(default_factory=list)
    repaired: Schedule | None = None


def robust(
    result: Result, failure: Failure | None, draws: Draws | None, effort: Effort, slack: float = 0.0
) -> Robust:
    """Return the result, selected for its figure where that is asked, and what failure and draws do to it.

    `slack` is that of `repair`.

    Raises:
        InputError: after a later failure nothing leads from a chunk to an NPU that wants it; names both.
        Cancelled: before a repair has been found.
        InvalidSchedule: a repaired schedule breaks a rule.
    """
    data: dict[str, Any] = {}
    rows: Rows = []
    repaired = None
    if draws is not None:
        result, data["variance"] = _under(result, draws, effort)
        rows += variance_rows(data["variance"])
    if failure is not None:
        schedule = result.schedule
        found = repair(schedule, failure, effort, slack=slack)
        repaired = _checked(found, failure)
        data["failures"] = failures_summary(schedule, failure, found)
        rows += failure_rows(data["failures"])
    return Robust(result, data, rows, repaired)


def _under(result: Result, draws: Draws, effort: Effort) -> tuple[Result, dict[str, Any]]:
    """Return the result, selected if that is asked, and the object `variance`."""
    chosen = None if draws.select is None else selected(result, draws, effort)
    result = result if chosen is None else chosen.result
    schedule, seed = result.schedule, effort.seed
    fixed = fixed_algorithms(schedule.problem).schedules
    found = compare({"": schedule, **fixed}, draws.variance, draws.count, seed)
    own = found.pop("")
    data = variance_summary(schedule.problem.graph, draws, seed, own, found)
    if chosen is not None:
        fastest = figures_summary(spread(chosen.fastest, draws.variance, draws.count, seed))
        data["select"] = {
            "figure": draws.select,
            "candidates": chosen.candidates,
            "fastest_ps": chosen.fastest.time_ps,
            "fastest_figure_ps": fastest[f"{draws.select}_ps"],
        }
    return result, data


def _checked(found: Repair, failure: Failure) -> Schedule:
    """Return the repaired schedule after a check of both.

    It is on the links that are left if they fail at the start and every node has some: files of links have
    no node without any.
    """
    made = []
    for schedule in (found.repaired, found.anew):
        dead = failure.links[schedule.link]
        if (schedule.end_ps[dead] > failure.at_ps).any():
            raise InvalidSchedule("the repaired schedule is invalid: a send is over a link that has failed")
        made.append(schedule if failure.at_ps else on_broken_graph(schedule, failure))
        require_valid(check(made[-1]), "the repair")
    graph = made[0].problem.graph
    has_all = len({*graph.sources.tolist(), *graph.destinations.tolist()}) == graph.nodes
    return made[0] if has_all else found.repaired


_LEAST_DRAWS = 1000  # with fewer, luck decides


@dataclass(frozen=True)
class Selection:
    """A result whose schedule was selected among `candidates`, and the nominally fastest of them."""

    result: Result
    fastest: Schedule
    candidates: int


class OneRun(Synthesizer):
    """A single run of a greedy search; the number of the run chooses its rule."""

    name = "restarts"

    def __init__(self, number: int) -> None:
        self._number = number

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the schedule of the run; see Synthesizer.synthesize."""
        variants = variants_for(problem)
        variant = variants[self._number % len(variants)]
        return search_variants(problem, effort, self.name, (variant,))


def selected(result: Result, draws: Draws, effort: Effort) -> Selection:
    """Return the schedule with the least figure: the result's, or that of one of `effort.trials` single runs.

    It is selected under draws of another seed than the one under which schedules are reported: the least of
    many figures is small by luck too, and that must not be reported.
    """
    assert draws.select is not None
    started = time.process_time()
    problem, schedules = result.schedule.problem, [result.schedule]
    ends = None if effort.time_limit_s is None else time.monotonic() + effort.time_limit_s
    for number in range(effort.trials):
        cancelled = effort.cancellation is not None and effort.cancellation.is_cancelled
        if cancelled or (ends is not None and time.monotonic() >= ends):
            break
        # The next seeds, as the first runs of the result's own search have had `seed`.
        seed, silent = effort.seed + number + 1, DEFAULT_EFFORT.report
        once = replace(effort, seed=seed, trials=1, time_limit_s=None, report=silent)
        schedules.append(made_by(problem, OneRun(number), once).synthesis.schedule)
    best, _ = select(schedules, draws.select, draws.variance, max(draws.count, _LEAST_DRAWS), effort.seed + 1)
    why = f"the least {draws.select} of {len(schedules)} schedules; {result.why}"
    if best:
        result = replace(result, schedule=schedules[best], synthesizer=OneRun.name, barrier_ps=None)
    result = replace(result, why=why, cpu_s=result.cpu_s + time.process_time() - started)
    return Selection(result, schedules[0], len(schedules))
