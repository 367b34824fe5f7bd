"""A lower bound: a time, its argument, and the nodes that it is about."""

from __future__ import annotations

from dataclasses import dataclass

# What the engine has for "never".
NEVER = (1 << 63) - 1
LATE = NEVER // 8  # later than all times, and small enough to be added


@dataclass(frozen=True)
class Bound:
    """No schedule takes less than `time_ps`.

    `text` is the argument, with the numbers that a reader needs to check it by hand. It is about `nodes`
    (empty: all), and, where chunks enter one set of nodes and then another inside of it, about `inner`.
    `weights` are those of the links, one each, where the argument weighs deliveries.
    """

    name: str
    time_ps: int
    nodes: tuple[int, ...]
    text: str
    inner: tuple[int, ...] = ()
    weights: tuple[int, ...] = ()


@dataclass
class Strongest:
    """The strongest bound of a name so far: the nodes are listed for those alone that are stronger."""

    name: str
    time_ps: int = 0

    def raised_to(self, time_ps: int) -> bool:
        """Whether a time is a bound that is stronger."""
        if not self.time_ps < time_ps < NEVER:
            return False
        self.time_ps = time_ps
        return True


NONE = Bound("none", 0, (), "nothing has to be sent")
