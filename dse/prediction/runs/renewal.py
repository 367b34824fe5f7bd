"""Expected time of work under failures: a renewal process whose expectations are closed forms.

Failures come at a constant rate while the job is up, in computing, checkpoints and recovery. After one, the
job recovers, which failures may interrupt, and goes on from the last durable checkpoint. A checkpoint blocks
the job for a while, and is durable some time after that, while the job computes on. Failed nodes are repaired
each for itself; where no spare is left, the job waits for the first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FailureClass:
    """Failures of one kind: `rate` per second of the whole job, `recovery_s` from the failure to computing.

    `takes_node`: a node is lost until it is repaired, and a spare one takes its place.
    """

    name: str
    rate: float
    recovery_s: float
    takes_node: bool


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint blocks for `blocking_s`, and is durable `writing_s` after that."""

    blocking_s: float
    writing_s: float = 0.0


@dataclass(frozen=True)
class Spares:
    """`spares` nodes stand by; a failed node is back after `repair_s` on average."""

    spares: int
    repair_s: float


@dataclass(frozen=True)
class Expected:
    """Expected seconds per second of useful work; they sum to `total`. `failures` are per such second."""

    useful: float
    checkpoints: float
    lost: float
    recovery: float
    waiting: float
    failures: float

    @property
    def total(self) -> float:
        """Wall time over useful time; its inverse is the effective training time ratio."""
        return self.useful + self.checkpoints + self.lost + self.recovery + self.waiting


ENDLESS = Expected(1.0, 0.0, math.inf, math.inf, math.inf, math.inf)
"""The job makes no progress: hardly any stretch between failures is long enough."""

_LONGEST = 700.0  # exp of more is infinite


def expected(
    interval_s: float,
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    spares: Spares | None = None,
) -> Expected:
    """Return the expected time of a second of useful work with a checkpoint after every `interval_s` of it.

    With failures of rate L, a stretch of s = interval + blocking from one durable checkpoint to the next
    succeeds at once with probability exp(-L s); after a failure the job repeats from the last durable one,
    and is durable again after s + writing. Both are exact; without writing this is Daly's formula (2006).
    """
    rate = sum(one.rate for one in classes)
    stretch = interval_s + checkpoints.blocking_s
    again = stretch + checkpoints.writing_s
    if rate * again > _LONGEST:
        return ENDLESS
    # Of a stretch, while the job computes: one if the first try fails, exp(L again) - 1 in repetitions.
    failures = -math.expm1(-rate * stretch) * math.exp(rate * again)
    up = failures / rate if rate > 0 else stretch
    recovery_each, repeated = _recovery(classes, rate)
    if math.isinf(recovery_each):
        return ENDLESS
    recovery = failures * recovery_each
    per_work = 1 / interval_s
    waiting = _waiting((up + recovery) * per_work, classes, spares)
    return Expected(
        useful=1.0,
        checkpoints=checkpoints.blocking_s * per_work,
        lost=(up - stretch) * per_work,
        recovery=recovery * per_work,
        waiting=waiting,
        failures=failures * (1 + repeated) * per_work,
    )


def _recovery(classes: Sequence[FailureClass], rate: float) -> tuple[float, float]:
    """Return the expected time from a failure to computing, and how many failures interrupt it.

    A failure in a recovery begins another one, of its own class: with the share a of recoveries that are
    interrupted, the recoveries of a failure are 1 / (1 - a).
    """
    if rate <= 0:
        return 0.0, 0.0
    interrupted = sum(one.rate / rate * -math.expm1(-rate * one.recovery_s) for one in classes)
    if interrupted >= 1:
        return math.inf, math.inf
    return interrupted / rate / (1 - interrupted), interrupted / (1 - interrupted)


def _waiting(up: float, classes: Sequence[FailureClass], spares: Spares | None) -> float:
    """Return the expected time of waiting for a spare while the job is up for `up`.

    Counted in the time that the job is up, the nodes in repair are Erlang's loss system: a failure that finds
    all spares gone waits for the first of spares + 1 repairs, and leaves the system as it was.
    """
    lost = sum(one.rate for one in classes if one.takes_node)
    if spares is None or lost <= 0 or spares.repair_s <= 0:
        return 0.0
    blocked = erlang_loss(lost * spares.repair_s, spares.spares)
    return up * lost * blocked * spares.repair_s / (spares.spares + 1)


def erlang_loss(offered: float, servers: int) -> float:
    """Return the share of arrivals that find all servers busy (Erlang 1917), by its stable recurrence."""
    loss = 1.0
    for count in range(1, servers + 1):
        loss = offered * loss / (count + offered * loss)
    return loss


def young_interval_s(blocking_s: float, rate: float) -> float:
    """Return sqrt(2 C / L), the interval of Young 1974 for checkpoints of C seconds."""
    return math.sqrt(2 * blocking_s / rate)


def daly_interval_s(blocking_s: float, rate: float) -> float:
    """Return the interval of Daly 2006, equation 37: of higher order in C L, and 1 / L from C L = 2 on."""
    if blocking_s * rate >= 2:
        return 1 / rate
    ratio = math.sqrt(blocking_s * rate / 2)
    return young_interval_s(blocking_s, rate) * (1 + ratio / 3 + ratio**2 / 9) - blocking_s


def best_interval_s(
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    spares: Spares | None = None,
    *,
    least_s: float = 1.0,
    most_s: float = 30 * 86400.0,
) -> float:
    """Return the interval of least expected time between two bounds, to a ten-thousandth.

    The expected time has one minimum in the interval, so that thirds are cut off in its logarithm.
    """
    low, high = math.log(least_s), math.log(most_s)

    def cost(log_interval: float) -> float:
        return expected(math.exp(log_interval), checkpoints, classes, spares).total

    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = cost(left), cost(right)
    while high - low > 1e-4:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = cost(right)
    return math.exp((low + high) / 2)
