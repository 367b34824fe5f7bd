"""Large-neighbourhood improvement of the best schedule of restarts."""

from __future__ import annotations

from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Synthesizer
from dse.collectives.search.synthesizers.restarts import runs_of_a_trial, variants_for
from dse.collectives.search.synthesizers.searches import Columns, limited, numbered, reporter

# Steps per trial: as many as cost what about a trial of restarts costs, or a small problem has time for.
_MOST_STEPS = 50
_SENDS_OF_A_TRIAL = 200_000
_MOST_ALL = 2**31  # the engine counts in 32 bits


class Improve(Synthesizer):
    """Restarts, then steps that free part of the schedule and solve it again."""

    name = "improve"

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        from dse.base import solvers

        with limited(effort) as cancellation:
            start, runs = solvers.search_restarts(
                problem.native,
                numbered(variants_for(problem)),
                effort.seed,
                min(effort.trials * runs_of_a_trial(problem), _MOST_ALL),
                effort.enough_ps,
                cancellation,
                reporter(effort),
            )
            columns, _ = solvers.search_improve(
                problem.native,
                *start,
                effort.seed,
                min(effort.trials * steps_of_a_trial(start), _MOST_ALL),
                effort.enough_ps,
                cancellation,
                reporter(effort),
            )
        trials = -(-runs // runs_of_a_trial(problem))
        return Synthesis(Schedule.of(problem, *columns), self.name, trials)


def steps_of_a_trial(columns: Columns) -> int:
    """Return how many steps on a schedule count as one trial."""
    return max(1, min(_MOST_STEPS, _SENDS_OF_A_TRIAL // max(1, len(columns[0]))))
