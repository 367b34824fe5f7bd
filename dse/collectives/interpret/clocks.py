"""Vector clocks: which steps are ordered in every run of a program, and two accesses that are not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias

from dse.base.lazy import NDArray, np

Clock: TypeAlias = "NDArray[np.int32]"


class Clocks:
    """The clock of each thread: how many steps of every other one are over for certain.

    Waits match fixed steps and messages come in order, so that the order of one run is that of all runs
    (Lamport 1978, Mattern 1989).
    """

    def __init__(self, threads: int) -> None:
        self._now: Clock = np.zeros((threads, threads), dtype=np.int32)

    def learn(self, thread: int, other: Clock) -> None:
        """A thread has waited for what `other` says."""
        np.maximum(self._now[thread], other, out=self._now[thread])

    def reset(self, thread: int, clock: Clock) -> None:
        """Forget what a thread has learnt since a snapshot, which held for one operation only."""
        self._now[thread] = clock

    def tick(self, thread: int) -> None:
        """A thread begins its next step."""
        self._now[thread, thread] += 1

    def snapshot(self, thread: int) -> Clock:
        """Return all that is over when the present step of a thread is."""
        clock: Clock = self._now[thread].copy()
        return clock

    def time(self, thread: int) -> int:
        """Return the number of a thread's present step, from 1 on."""
        return int(self._now[thread, thread])

    def is_over(self, thread: int, other: int, time: int) -> bool:
        """Whether step `time` of another thread is over for certain when a thread is at its present step."""
        return bool(self._now[thread, other] >= time)


class Accesses:
    """The last write of every place and the reads since, and the first pairs that no order separates."""

    def __init__(self, clocks: Clocks) -> None:
        self._clocks = clocks
        self._written: dict[Hashable, tuple[int, int]] = {}
        self._read: dict[Hashable, dict[int, int]] = {}
        self.races: list[tuple[Hashable, int, int]] = []
        """Places with the two threads whose accesses are not ordered."""

    def step(self, thread: int, reads: Iterable[Hashable], writes: Iterable[Hashable]) -> None:
        """Take all accesses of a thread's present step."""
        for place in reads:
            self._check_write(thread, place)
            self._read.setdefault(place, {})[thread] = self._clocks.time(thread)
        for place in writes:
            self._check_write(thread, place)
            for other, time in self._read.pop(place, {}).items():
                self._check(thread, place, other, time)
            self._written[place] = (thread, self._clocks.time(thread))

    def _check_write(self, thread: int, place: Hashable) -> None:
        if place in self._written:
            self._check(thread, place, *self._written[place])

    def _check(self, thread: int, place: Hashable, other: int, time: int) -> None:
        if other != thread and not self._clocks.is_over(thread, other, time):
            self.races.append((place, other, thread))
