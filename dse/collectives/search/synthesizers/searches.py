"""Parts that the searches of the engine share: variants, time limits, and columns made a schedule."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from dse.base.cancellation import Cancellation
from dse.base.errors import InputError, SimulationTimeout
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.synthesizers.base import Effort, Progress, Synthesis, Synthesizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Columns: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]"
Approach = Literal["forward", "arrival", "routes"]
Rule = Literal["oldest", "random", "rarest", "weighted", "needed"]
Variant = tuple[Approach, Rule]

# As the engine numbers them.
APPROACHES: tuple[Approach, ...] = ("forward", "arrival", "routes")
RULES: tuple[Rule, ...] = ("oldest", "random", "rarest", "weighted", "needed")


def numbered(variants: tuple[Variant, ...]) -> list[tuple[int, int]]:
    """Return variants as the engine takes them."""
    return [(APPROACHES.index(approach), RULES.index(rule)) for approach, rule in variants]


def is_spread_by_wants(problem: Problem) -> bool:
    """Whether chunks reach all that want them by those that want them, so that no node needs to relay."""
    return problem.collective.everyone_wants_all and problem.graph.nodes == problem.graph.npus


@contextlib.contextmanager
def limited(effort: Effort) -> Iterator[Cancellation | None]:
    """Give what ends the search of an effort; a time limit too short for any schedule is an InputError."""
    limit_s = effort.time_limit_s
    if limit_s is None:
        yield effort.cancellation
        return
    try:
        yield (effort.cancellation or Cancellation()).limited_to(limit_s, "no schedule yet")
    except SimulationTimeout as error:
        raise InputError(
            f"no schedule was found in the {limit_s:.3g} s that time_limit_s left to the search; "
            "give it more seconds"
        ) from error


def reporter(effort: Effort) -> Callable[[int | None, int], None]:
    """Return what the engine calls with the best time so far, or None, and the runs done."""
    return lambda best_ps, trials: effort.report(Progress(best_ps, trials))


def search_variants(
    problem: Problem, effort: Effort, synthesizer: str, variants: tuple[Variant, ...]
) -> Synthesis:
    """Return the best of the runs of some variants; see Synthesizer.synthesize."""
    from dse.base import solvers

    with limited(effort) as cancellation:
        found, trials = solvers.search_restarts(
            problem.native,
            numbered(variants),
            effort.seed,
            effort.trials,
            effort.enough_ps,
            cancellation,
            reporter(effort),
        )
    return Synthesis(Schedule.found(problem, found), synthesizer, trials)


class GreedySearch(Synthesizer):
    """The best of `trials` runs of some `variants`; a kind of search is a name and its variants.

    Chunks that must pass through nodes that do not want them get short ways first.
    """

    variants: ClassVar[tuple[Variant, ...]]

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found; see Synthesizer.synthesize."""
        ways: tuple[Variant, ...] = () if is_spread_by_wants(problem) else (("routes", "oldest"),)
        return search_variants(problem, effort, self.name, ways + self.variants)
