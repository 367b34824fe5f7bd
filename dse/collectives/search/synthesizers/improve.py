"""Large-neighbourhood improvement: parts of a schedule are freed and solved again."""

from __future__ import annotations

from dataclasses import replace

from dse.base.lazy import solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Synthesizer, limited, reporter
from dse.collectives.search.synthesizers.restarts import Restarts

# Steps per trial: as many as cost what about a trial of restarts costs, or a small problem has time for.
_MOST_STEPS = 50
_SENDS_OF_A_TRIAL = 200_000
_MOST_ALL = 2**31  # the engine counts in 32 bits


class Improve(Synthesizer):
    """Restarts, then steps that free part of the schedule and solve it again."""

    name = "improve"

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        deadline = effort.deadline
        made = Restarts().synthesize(problem, effort)
        steps = effort.trials * steps_of_a_trial(made.schedule)
        schedule = improved(problem, made.schedule, effort.until(deadline), steps)
        return replace(made, schedule=schedule, synthesizer=self.name)


def improved(problem: Problem, start: Schedule, effort: Effort, steps: int) -> Schedule:
    """Return the schedule after so many steps from `start`, which it is at least as fast as.

    Raises:
        InputError: the time limit leaves no time for a step.
    """
    with limited(effort) as cancellation:
        columns, _ = solvers.search_improve(
            problem.native,
            start.link,
            start.chunk,
            start.start_ps,
            effort.seed,
            min(steps, _MOST_ALL),
            effort.enough_ps,
            cancellation,
            reporter(effort),
        )
    return Schedule.of(problem, *columns)


def steps_of_a_trial(start: Schedule) -> int:
    """Return how many steps on a schedule count as one trial."""
    return max(1, min(_MOST_STEPS, _SENDS_OF_A_TRIAL // max(1, len(start))))
