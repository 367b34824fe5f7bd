"""Nodes in repair while a job runs: how long it waits for spares, or runs with fewer nodes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat


@dataclass(frozen=True)
class FailureClass:
    """Failures of one kind: `rate` per second of the whole job, `recovery_s` from the failure to computing.

    `nodes` are lost at once, until each is repaired for itself; spare ones take their places.
    `near_recovery_s` is the time where a copy near the nodes is read; None where the failure loses that copy.
    """

    name: str
    rate: float
    recovery_s: float
    nodes: int = 0
    near_recovery_s: float | None = None

    @property
    def takes_node(self) -> bool:
        """Whether a node must be replaced."""
        return self.nodes > 0


@dataclass(frozen=True)
class Spares:
    """`spares` nodes stand by; a failed node is back after `repair_s` on average, exponentially.

    `speeds` are those of a job that lacks 1, 2, … nodes beyond its spares, 1 with all; where more are lacking
    it waits. Every change of speed stops it for `reconfigure_s`.
    """

    spares: int
    repair_s: float
    speeds: tuple[float, ...] = ()
    reconfigure_s: float = 0.0


@dataclass(frozen=True)
class Shop:
    """Per second that a job is up, the seconds in which it waits or changes its size.

    `speed` is the mean while it computes.
    """

    waiting: float = 0.0
    reconfiguring: float = 0.0
    speed: float = 1.0


_RARE = 1e-18  # of the probability: more nodes in repair do not count
_LARGE = 1e200


@functools.lru_cache(maxsize=256)
def repair_shop(classes: tuple[FailureClass, ...], spares: Spares) -> Shop:
    """Return how nodes in repair slow a job down.

    Counted in the time that the job is up, their number is a Markov chain: failures add nodes, one repair
    takes one out. A failure that would exceed `spares` and `speeds` waits for as many repairs as exceed them.
    With single nodes it is the loss system of Erlang 1917. Failures come at the rate of a job of full size.
    """
    arrivals = [(one.nodes, one.rate) for one in classes if one.nodes > 0 and one.rate > 0]
    if not arrivals or spares.repair_s <= 0:
        return Shop()
    shares = _stationary(arrivals, spares)
    most = spares.spares + len(spares.speeds)
    speeds = [*chain(repeat(1.0, spares.spares + 1), spares.speeds)]
    waiting = changes = 0.0
    for broken, share in enumerate(shares):
        if broken and speeds[broken] != speeds[broken - 1]:
            changes += share * broken / spares.repair_s
        for nodes, rate in arrivals:
            reached = broken + nodes
            if reached > most:
                waiting += (
                    share * rate * spares.repair_s * sum(1 / left for left in range(most + 1, reached + 1))
                )
            if speeds[min(reached, most)] != speeds[broken]:
                changes += share * rate
    speed = _computing_speed(classes, spares, shares, speeds) if spares.speeds else 1.0
    return Shop(waiting, changes * spares.reconfigure_s, speed)


def _computing_speed(
    classes: Sequence[FailureClass], spares: Spares, shares: Sequence[float], speeds: Sequence[float]
) -> float:
    """Return the mean speed outside recoveries, in which more nodes are lacking than else.

    A recovery begins with the nodes of its failure lost; until its middle each is repaired with the
    probability of that time, to first order (an implicit step of Euler).
    """
    rate = sum(one.rate for one in classes)
    all_time = sum(share * speed for share, speed in zip(shares, speeds, strict=False))
    recovering = in_recovery = 0.0
    for one in classes:
        seconds = one.recovery_s if one.near_recovery_s is None else one.near_recovery_s
        part = one.rate / rate * -math.expm1(-rate * seconds)
        after = [0.0] * len(shares)
        for broken, share in enumerate(shares):
            after[min(broken + one.nodes, len(shares) - 1)] += share
        from_above = mean = 0.0
        for broken in range(len(after) - 1, -1, -1):
            step = broken * seconds / 2 / spares.repair_s
            here = (after[broken] + from_above) / (1 + step)
            from_above = here * step
            mean += here * speeds[broken]
        recovering += part
        in_recovery += part * mean
    if recovering >= 1:
        return all_time
    return min(1.0, (all_time - in_recovery) / (1 - recovering))  # the first order may exceed it


def _stationary(arrivals: Sequence[tuple[int, float]], spares: Spares) -> list[float]:
    """Return the share of the time with 0, 1, … nodes in repair, as far as it counts.

    Upward over the cut below each number go failures of enough nodes, downward one repair.
    """
    largest = max(nodes for nodes, _ in arrivals)
    at_least = [sum(rate for nodes, rate in arrivals if nodes >= least) for least in range(largest + 1)]
    offered = sum(nodes * rate for nodes, rate in arrivals) * spares.repair_s
    weights, total = [1.0], 1.0
    for broken in range(1, spares.spares + len(spares.speeds) + 1):
        up = sum(weights[-below] * at_least[below] for below in range(1, min(largest, broken) + 1))
        weights.append(up * spares.repair_s / broken)
        total += weights[-1]
        if total > _LARGE:
            weights, total = [weight / total for weight in weights], 1.0
        if broken > offered + largest and weights[-1] < _RARE * total:
            break
    return [weight / total for weight in weights]
