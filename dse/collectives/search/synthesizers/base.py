"""The contract of a synthesizer: a problem and an effort in, the best schedule found out."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeAlias

from dse.base.cancellation import Cancellation, Deadline
from dse.base.errors import InputError, SimulationTimeout
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule


@dataclass(frozen=True)
class Progress:
    """How far a search is: the best time so far, None before the first schedule, and the runs done.

    `bound_ps` comes with the first report: the strongest bound that is known before the search, or 0.
    """

    best_ps: int | None
    trials: int
    bound_ps: int = 0


@dataclass(frozen=True)
class Effort:
    """How long a search may go on, and what it starts from.

    It ends after `trials` runs, after `time_limit_s` seconds (then with the best so far), when `cancellation`
    is set (likewise), or when a schedule takes `enough_ps`, a lower bound. Results depend on `seed`, and on
    nothing else unless the time limit ends the search.
    """

    seed: int = 0
    trials: int = 20
    time_limit_s: float | None = None
    enough_ps: int = 0
    cancellation: Cancellation | None = None
    report: Callable[[Progress], None] = lambda _: None

    @property
    def deadline(self) -> Deadline:
        """The deadline of work that begins now."""
        return Deadline.after(self.time_limit_s, self.cancellation)

    def until(self, deadline: Deadline) -> Effort:
        """Return the same with the time that a deadline leaves."""
        return replace(self, time_limit_s=deadline.left_s)


@dataclass(frozen=True)
class Synthesis:
    """The best schedule of a search.

    `proven_ps` is a lower bound that the search itself has proven (0: none), with its argument in `proof`;
    `why` says for people what made the schedule.
    """

    schedule: Schedule
    synthesizer: str
    trials: int
    proven_ps: int = 0
    proof: str = ""
    why: str = ""


DEFAULT_EFFORT = Effort()
Overlap: TypeAlias = Callable[[Schedule, Effort], Schedule]


class Synthesizer(ABC):
    """Makes schedules for problems; deterministic per seed, whatever the number of threads."""

    name: ClassVar[str]
    keeps_to_abilities: ClassVar[bool] = False
    """Whether its schedules hold where a switch cannot copy; others let every switch copy."""

    def obstacle(self, problem: Problem) -> str | None:  # noqa: ARG002 (for those that override it)
        """Why it cannot take a problem, None if it can; problems with sums are brought to it mirrored."""
        return None

    def refusal(self, problem: Problem) -> str | None:
        """Why it is not to be run on a problem: its obstacle, or a switch that cannot do what it needs."""
        switches = sorted(problem.graph.cannot_copy)
        if switches and not self.keeps_to_abilities:
            return f"it lets every switch copy, or add, and switch {switches[0]} cannot"
        return self.obstacle(problem)

    @abstractmethod
    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return the best schedule found.

        Raises:
            InputError: there is no way for a chunk, or no schedule within the time limit; names both NPUs.
        """

    def whole_all_reduce(
        self,
        problem: Problem,  # noqa: ARG002 (for those that override it)
        effort: Effort,  # noqa: ARG002
        best: Schedule,  # noqa: ARG002
        overlap: Overlap,  # noqa: ARG002
    ) -> Synthesis | None:
        """Return what is known of an all-reduce taken whole; `best` is made of its two halves, overlapped.

        `overlap` makes the halves of another schedule around each other.
        The schedule returned is `best` or a faster one; None means that this synthesizer only makes halves.
        """
        return None


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
