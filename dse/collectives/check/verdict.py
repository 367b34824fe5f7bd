"""The result of a check: how many sends break a rule, and the first of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dse.base.errors import DseError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.recorded_sends import SendTable


@dataclass(frozen=True)
class Violation:
    """A broken rule (1-5), the numbers of the sends that break it together, and a sentence for people."""

    rule: int
    sends: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Verdict:
    """The result of a check of `sends` sends. `violations` are the first ones in time, `count` is of all."""

    sends: int
    time_ps: int
    count: int
    violations: tuple[Violation, ...]

    @property
    def is_valid(self) -> bool:
        """Whether no rule is broken."""
        return self.count == 0


class InvalidSchedule(DseError):  # noqa: N818 (a verdict, which names its rule)
    """A schedule that a synthesizer or a repair made breaks a rule; the message names the first one."""


def require_valid(verdict: Verdict, made_by: str) -> None:
    """Refuse a schedule that was made here, unless its check found nothing.

    Raises:
        InvalidSchedule: it breaks a rule; `made_by` says in the message what made it.
    """
    if not verdict.is_valid:
        first = verdict.violations[0]
        raise InvalidSchedule(
            f"the schedule of {made_by} is invalid: rule {first.rule}: {first.text}; {verdict.count} in all; "
            "nothing was written: choose another synthesizer, and report this one"
        )


class Violations:
    """Collects violations, and writes texts for the first `most` only."""

    def __init__(self, sends: SendTable, most: int) -> None:
        self.count = 0
        self._sends = sends
        self._most = most
        self._found: list[tuple[int, Violation]] = []

    def add(
        self,
        rule: int,
        rows: NDArray[np.int64],
        why: Callable[[int], str],
        others: NDArray[np.int64] | None = None,
    ) -> None:
        """Note sends that break a rule; `why` says so of the one at a position of `rows`.

        `others` are, position by position, the sends that they collide with; below 0: none.
        """
        self.count += len(rows)
        times = self._sends.start_ps[rows]
        for position in np.argsort(times, kind="stable")[: self._most].tolist():
            row = int(rows[position])
            numbers = (row,) if others is None or others[position] < 0 else (row, int(others[position]))
            text = f"{self.name(row)}: {why(position)}"
            if len(numbers) == 2:
                text += f" (send {self.name(numbers[1])})"
            self._found.append((int(times[position]), Violation(rule, numbers, text)))

    def add_missing(self, rule: int, count: int, what: Callable[[int], str]) -> None:
        """Note what is not there at the end; `what` says it of the one at a position."""
        self.count += count
        for position in range(min(count, self._most)):
            self._found.append((1 << 62, Violation(rule, (), what(position))))

    def first(self) -> tuple[Violation, ...]:
        """The first of all, in order of time."""
        ordered = sorted(self._found, key=lambda pair: pair[0])
        return tuple(violation for _, violation in ordered[: self._most])

    def name(self, row: int) -> str:
        """Return what a send is called."""
        sends = self._sends
        mark = ", reduce" if sends.reduce[row] else ""
        return (
            f"{sends.source[row]} -> {sends.destination[row]}, chunk {sends.chunk[row]}, "
            f"{sends.start_ps[row]} to {sends.end_ps[row]} ps{mark}"
        )
