"""Beam search: several states of a schedule go on side by side, the fittest survive (BEAN TACOS's idea)."""

from __future__ import annotations

from typing import Literal, get_args

from dse.base.errors import InputError
from dse.base.lazy import solvers
from dse.base.settings.checks import check_choice
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Synthesizer, limited, reporter

# As the engine numbers them.
Fitness = Literal["chunk_count", "shortest_path"]


class Beam(Synthesizer):
    """The best of `trials` beam searches with `beams` states (docs/synthesis.md).

    `fitness` counts the chunks that have arrived, or measures the longest way that is left, in ps; with a
    `temperature` above 0, in the same unit, states survive by chance, the likelier the fitter.
    """

    name = "beam"

    def __init__(self, beams: int = 5, fitness: Fitness = "chunk_count", temperature: float = 0.0) -> None:
        """Refuse beams below 1, unknown fitness functions, and temperatures below 0."""
        check_choice("fitness", fitness, get_args(Fitness))
        if beams < 1:
            raise InputError(f"beams is {beams}; it must be 1 or more")
        if not temperature >= 0:
            raise InputError(f"temperature is {temperature:g}; it must be 0 or more")
        self.beams, self.fitness, self.temperature = beams, fitness, temperature

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        with limited(effort) as cancellation:
            columns, trials = solvers.search_beam(
                problem.native,
                self.beams,
                get_args(Fitness).index(self.fitness),
                self.temperature,
                effort.seed,
                effort.trials,
                effort.enough_ps,
                cancellation,
                reporter(effort),
            )
        return Synthesis(Schedule.of(problem, *columns), self.name, trials)
