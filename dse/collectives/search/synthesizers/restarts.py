"""Restarts of both greedy searches under all rules, which learn from each other which chunks come late."""

from __future__ import annotations

from dataclasses import replace

from dse.collectives.problem.problem import Problem
from dse.collectives.search.synthesizers.base import (
    Effort,
    Synthesis,
    Synthesizer,
    Variant,
    is_spread_by_wants,
    search_variants,
)

# The fastest first: it often meets a bound at once.
_SPREADING: tuple[Variant, ...] = (
    ("arrival", "oldest"),
    ("arrival", "needed"),
    ("arrival", "needed"),
    ("arrival", "rarest"),
    ("arrival", "needed"),
    ("arrival", "oldest"),
    ("forward", "needed"),
    ("arrival", "needed"),
    ("arrival", "weighted"),
    ("forward", "random"),
)
_MOST_RUNS_OF_A_TRIAL = 10
_SMALL_DELIVERIES = 20_000
_MOST_RUNS = 2**31  # the engine counts in 32 bits

_RELAYING: tuple[Variant, ...] = (
    ("routes", "oldest"),
    ("arrival", "oldest"),
    ("routes", "oldest"),
    ("arrival", "needed"),
)


def variants_for(problem: Problem) -> tuple[Variant, ...]:
    """Return the variants that runs take in turn."""
    return _SPREADING if is_spread_by_wants(problem) else _RELAYING


def runs_of_a_trial(problem: Problem) -> int:
    """Return how many runs count as one trial: several of small problems, which take no time."""
    if not is_spread_by_wants(problem):
        return 1
    deliveries = problem.graph.npus * problem.collective.chunks
    return max(1, min(_MOST_RUNS_OF_A_TRIAL, _SMALL_DELIVERIES // max(1, deliveries)))


class Restarts(Synthesizer):
    """The best of `trials` runs that differ by seed, rule and direction."""

    name = "restarts"
    keeps_to_abilities = True

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        runs = runs_of_a_trial(problem)
        more = replace(effort, trials=min(effort.trials * runs, _MOST_RUNS))
        found = search_variants(problem, more, self.name, variants_for(problem))
        return replace(found, trials=-(-found.trials // runs))
