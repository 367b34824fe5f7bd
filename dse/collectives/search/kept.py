"""Schedules that are kept as less than all their sends, and listed when these are first asked for."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

from dse.base.cancellation import Cancellation
from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule

# More are not listed one by one: 2^28 take 5 GB. Those of an all-reduce are fitted together: 2^26 take 2 GB.
MOST_LISTED_SENDS = 1 << 28
MOST_FITTED_SENDS = 1 << 26


class KeptSchedule(Schedule):
    """A schedule of which a part says all; the columns of `Schedule` are made when one is first asked for."""

    @property
    def can_be_listed(self) -> bool:
        """Whether there is memory for all sends one by one."""
        return len(self) <= self.most_sends

    @property
    def most_sends(self) -> int:
        """How many sends can be listed one by one."""
        return MOST_FITTED_SENDS if self.problem.collective.name == "all_reduce" else MOST_LISTED_SENDS

    def expand(self) -> Schedule:
        """Return the plain schedule, with every send, sorted by start, link and chunk.

        Raises:
            InputError: it has too many sends to list.
        """
        if not self.can_be_listed:
            raise InputError(
                f"the schedule has {len(self)} sends, more than the {self.most_sends} that can be listed;"
                f" {self.says_all}"
            )
        return self._listed()

    @property
    @abstractmethod
    def says_all(self) -> str:
        """Words for people about the part that is kept instead of all sends."""

    @abstractmethod
    def _listed(self) -> Schedule:
        """The plain schedule."""

    @abstractmethod
    def then_gathered(self, problem: Problem, gathered: Schedule) -> KeptSchedule:
        """Return the all-reduce that does this reduce-scatter and then, behind a barrier, an all-gather."""

    def overlapped(self, cancellation: Cancellation | None) -> KeptSchedule:  # noqa: ARG002 (for others)
        """Return an all-reduce at least as fast whose halves overlap, itself where nothing is known."""
        return self

    @cached_property
    def _expanded(self) -> Schedule:
        return self.expand()

    @cached_property
    def link(self) -> NDArray[np.int32]:
        """The link of each send."""
        return self._expanded.link

    @cached_property
    def chunk(self) -> NDArray[np.int32]:
        """The chunk of each send."""
        return self._expanded.chunk

    @cached_property
    def start_ps(self) -> NDArray[np.int64]:
        """When each send starts."""
        return self._expanded.start_ps

    @cached_property
    def reduce(self) -> NDArray[np.bool_]:
        """Whether each send adds to what the receiver has."""
        return self._expanded.reduce
