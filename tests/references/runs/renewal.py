"""Expected time of work under failures: a renewal process whose expectations are closed forms.

Failures come at a constant rate while the job is up, in computing, checkpoints and recovery. After one, the
job recovers, which failures may interrupt, and goes on from the last durable checkpoint. A checkpoint blocks
the job for a while, and is durable some time after that, while the job computes on. It may be near the nodes,
where only some failures leave it, and some of these be copied to storage, where all do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tests.references.runs.repairs import FailureClass, Shop, Spares, repair_shop


@dataclass(frozen=True)
class Checkpoints:
    """A checkpoint blocks for `blocking_s`, and is durable `writing_s` after that.

    `flush_s` None: it is in storage. Else it is near the nodes, and every `every`-th one is copied to storage
    behind the steps for `flush_s`; no such copy begins before the last has ended.
    """

    blocking_s: float
    writing_s: float = 0.0
    flush_s: float | None = None
    every: int = 1


@dataclass(frozen=True)
class Expected:
    """Expected seconds per second of useful work at full speed; they sum to `total`.

    `shrunk` is what a job with fewer nodes takes longer. `failures` are per such second.
    """

    useful: float
    checkpoints: float
    lost: float
    recovery: float
    waiting: float
    failures: float
    shrunk: float = 0.0

    @property
    def total(self) -> float:
        """Wall time over useful time; its inverse is the effective training time ratio."""
        return self.useful + self.checkpoints + self.lost + self.recovery + self.waiting + self.shrunk


ENDLESS = Expected(1.0, 0.0, math.inf, math.inf, math.inf, math.inf)
"""The job makes no progress: hardly any stretch between failures is long enough."""

_ROUNDED_UP = 1 + 1e-12  # so that a copy needs no stretch more by rounding
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
    A copy in storage counts from the first near checkpoint that is durable when it is written.
    """
    stretch = interval_s + checkpoints.blocking_s
    lag = math.ceil(checkpoints.flush_s / stretch) if checkpoints.flush_s else 0
    found = _without_repairs(interval_s, checkpoints, classes, max(checkpoints.every, lag), lag)
    if spares is None or found is ENDLESS:
        return found
    shop = repair_shop(tuple(classes), spares)
    return found if shop == Shop() else _slowed(found, shop)


def _slowed(found: Expected, shop: Shop) -> Expected:
    """Return a job that waits for nodes, and computes at the mean speed of those that it has."""
    longer = 1 / shop.speed
    return replace(
        found,
        checkpoints=found.checkpoints * longer,
        lost=found.lost * longer,
        recovery=found.recovery * longer,
        waiting=found.total * longer * shop.waiting,
        failures=found.failures * longer,
        shrunk=longer - 1 + found.total * longer * shop.reconfiguring,
    )


def _without_repairs(
    interval_s: float, checkpoints: Checkpoints, classes: Sequence[FailureClass], every: float, lag: float
) -> Expected:
    """Return the expectation with every failed node replaced at once.

    A cycle is the stretches from one copy in storage to the next, `every` of them. A failure that loses the
    near copy leads back over those and `lag` more, one without it repeats its stretch.
    """
    rate = sum(one.rate for one in classes)
    stretch = interval_s + checkpoints.blocking_s
    again = stretch + checkpoints.writing_s
    if rate * again > _LONGEST:
        return ENDLESS
    recovery = _recovery(classes, rate, checkpoints.flush_s is not None)
    per_work = 1 / (every * interval_s)
    failures = _failures(rate * stretch, rate * again, recovery.back, every, lag)
    if math.isinf(failures) or math.isinf(recovery.each_s):
        return ENDLESS
    up = failures / rate if rate > 0 else every * stretch
    return Expected(
        useful=1.0,
        checkpoints=checkpoints.blocking_s / interval_s,
        lost=max(0.0, up - every * stretch) * per_work,
        recovery=failures * recovery.each_s * per_work,
        waiting=0.0,
        failures=failures * (1 + recovery.repeated) * per_work,
    )


def _failures(first: float, again: float, back: float, every: float, lag: float) -> float:
    """Return the expected failures, outside recoveries, of a cycle of `every` stretches.

    `first` and `again` are the expected failures in a stretch, and in one after a failure; `back` is the
    share of failures that lead back to storage. A stretch that is repeated until it ends, or leads back,
    is tried t times; one that begins well fails (1 - exp(-first)) t times, and leads back with q of those.
    """
    fails, fails_again = -math.expm1(-first), -math.expm1(-again)
    ends = math.exp(-again)  # of a try; 1 - fails_again would lose it
    tries = 1 / (ends + fails_again * back)
    bad, bad_again = fails * tries, fails_again * tries
    leads_back = bad * back
    ends_again = ends * tries
    stays = math.log1p(-leads_back) if leads_back < 1 else -math.inf
    if back <= 0:
        return bad * every
    if ends_again <= 0 or -stays * (every + lag) > _LONGEST:
        return math.inf
    rest = every + lag - 1
    leaves = ends_again * math.exp(stays * rest)
    if leaves == 0:
        return math.inf
    from_storage = (bad_again + ends_again * _sum_of(stays, rest, leads_back) * bad) / leaves
    return _sum_of(stays, every, leads_back) * bad - math.expm1(stays * every) * from_storage


def _sum_of(stays: float, count: float, leads_back: float) -> float:
    """Return the expected stretches before one leads back, of `count`: a geometric series."""
    return -math.expm1(stays * count) / leads_back if leads_back > 0 and count > 0 else count


class _Recovery(NamedTuple):
    """Of a failure: the time until the job computes, the failures in it, how often it leads to storage."""

    each_s: float
    repeated: float
    back: float


def _recovery(classes: Sequence[FailureClass], rate: float, has_near: bool) -> _Recovery:
    """Return the recovery of a failure.

    A failure in a recovery begins another one, of its own class. Once a failure has lost the near copy, all
    that interrupt its recovery read storage, too.
    """
    if rate <= 0:
        return _Recovery(0.0, 0.0, 1.0)
    near = far = lost = lost_share = 0.0  # the shares of recoveries that are interrupted
    for one in classes:
        share = one.rate / rate
        interrupted = share * -math.expm1(-rate * one.recovery_s)
        far += interrupted
        if has_near and one.near_recovery_s is not None:
            near += share * -math.expm1(-rate * one.near_recovery_s)
        else:
            lost, lost_share = lost + interrupted, lost_share + share
    if near >= 1 or (far >= 1 and lost > 0):
        return _Recovery(math.inf, math.inf, 1.0)
    repeated = (near + (lost / (1 - far) if lost > 0 else 0.0)) / (1 - near)
    return _Recovery(repeated / rate, repeated, min(1.0, lost_share / (1 - near)))


def best_interval_s(
    checkpoints: Checkpoints,
    classes: Sequence[FailureClass],
    *,
    least_s: float = 1.0,
    most_s: float = 30 * 86400.0,
) -> float:
    """Return the interval of least expected time between two bounds, to a ten-thousandth.

    Repairs multiply the time, so the interval does not depend on them. The time has one minimum in the
    interval. With copies in storage it has one for each number of stretches in which such a copy is written;
    those next to the minimum over fractions of stretches are compared.
    """

    def total(interval_s: float, lag: float) -> float:
        every = max(float(checkpoints.every), lag)
        return _without_repairs(interval_s, checkpoints, classes, every, lag).total

    if not checkpoints.flush_s:
        return _least(lambda interval_s: total(interval_s, 0.0), least_s, most_s)
    flush_s, blocking_s = checkpoints.flush_s, checkpoints.blocking_s
    near_s = _least(lambda one: total(one, flush_s / (one + blocking_s)), least_s, most_s)
    found, middle = [], math.ceil(flush_s / (near_s + blocking_s))
    for lag in range(max(1, middle - 2), middle + 3):
        low_s = max(least_s, (flush_s / lag) * _ROUNDED_UP - blocking_s)
        high_s = min(most_s, flush_s / (lag - 1) - blocking_s) if lag > 1 else most_s
        if low_s <= high_s:
            found.append(_least(functools.partial(total, lag=lag), low_s, high_s))
    return min(found, key=lambda one: expected(one, checkpoints, classes).total, default=near_s)


def _least(cost: Callable[[float], float], least_s: float, most_s: float) -> float:
    """Return where the cost is least: golden sections are cut off in the logarithm, and both ends count."""
    low, high = math.log(least_s), math.log(most_s)
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = cost(math.exp(left)), cost(math.exp(right))
    while high - low > 1e-4:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = cost(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = cost(math.exp(right))
    return min((math.exp((low + high) / 2), least_s, most_s), key=cost)
