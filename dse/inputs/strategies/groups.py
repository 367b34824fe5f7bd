"""The parallel axis that a communicator group belongs to (docs/workload.md, Parallelism)."""

from __future__ import annotations

from dse.inputs.strategies.strategy import GROUPED, Strategy


def axis_of_group(name: str, members: int, strategy: Strategy) -> str | None:
    """Return the axis of the group called `name` in a generated workload, or in one of STAGE.

    Groups are numbered from 1, by the axes in the order of `GROUPED`. None for a name, or a number of
    members, that no group of such a workload has.
    """
    if not (name.isascii() and name.isdigit()):
        return None
    number = int(name)
    for axis in GROUPED:
        degree = int(getattr(strategy, axis))
        groups = strategy.npus // degree
        if 1 <= number <= groups:
            return axis if members == degree else None
        number -= groups
    return None
