"""The contract of a synthesizer: a problem and an effort in, the best schedule found out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from dse.base.cancellation import Cancellation, Deadline
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
