"""Of many schedules the one that does best where links vary, not the one that is nominally the fastest."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.robust.settings import Draws
from dse.collectives.robust.variance import select
from dse.collectives.search.synthesis import Result, made_by
from dse.collectives.search.synthesizers.base import DEFAULT_EFFORT, Effort, Synthesis, Synthesizer
from dse.collectives.search.synthesizers.restarts import variants_for
from dse.collectives.search.synthesizers.searches import search_variants

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
