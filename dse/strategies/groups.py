"""Which parallel axis a communicator group belongs to (workload specification, section 7)."""

from __future__ import annotations

from typing import Literal

from dse.strategies.strategy import Strategy

Axis = Literal["dp", "tp", "sp", "pp"]


def axis_of_group(name: str, members: int, strategy: Strategy) -> Axis | None:
    """Return the axis of the group called `name` in a generated workload, or in one of STAGE.

    Groups are numbered from 1: those of dp, then of tp, then of sp. None for a name, or a number of members,
    that no group of such a workload has.
    """
    if not (name.isascii() and name.isdigit()):
        return None
    number = int(name)
    axes: tuple[Axis, ...] = ("dp", "tp", "sp")
    for axis in axes:
        degree = int(getattr(strategy, axis))
        groups = strategy.npus // degree
        if 1 <= number <= groups:
            return axis if members == degree else None
        number -= groups
    return None
