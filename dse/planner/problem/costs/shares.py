"""How a micro-batch is dealt to replicas of different speed, and cut into profiled batches."""

from __future__ import annotations

from math import floor

from dse.planner.problem.arithmetic import plain_sum


def shares(times_ms: list[float], batch: int) -> list[int]:
    """Return the samples of each replica: in proportion to its speed, 1 / `times_ms`, in whole samples.

    What rounding down leaves goes, one each, to the largest remainders; the lower replica is first among
    equals.
    """
    speeds = [1.0 / ms for ms in times_ms]
    total = plain_sum(speeds)
    exact = [batch * (speed / total) for speed in speeds]
    whole = [floor(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda r: -(exact[r] - whole[r]))
    for replica in by_remainder[: batch - sum(whole)]:
        whole[replica] += 1
    return whole


def slices(share: int) -> list[int]:
    """Return the powers of two that add up to a share, largest first."""
    return [1 << bit for bit in reversed(range(share.bit_length())) if share >> bit & 1]
