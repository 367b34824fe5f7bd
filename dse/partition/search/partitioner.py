"""The contract of a partitioner: a problem in, the best partition it finds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Partition, PartitionProblem

SEARCH_S = 30.0
"""The default time limit of a search that proves nothing, in seconds; large graphs have more."""

_NODES_AND_EDGES_PER_S = 10_000


def search_s(graph: ModelGraph) -> float:
    """Return the time limit of a search for which none was asked, in seconds. Most searches end before."""
    return SEARCH_S + (graph.nodes + len(graph.edges)) // _NODES_AND_EDGES_PER_S


@dataclass(frozen=True)
class Limits:
    """Wall time in seconds (None means to the end), seed of random draws, restarts (None means its own).

    `is_default` says that the time limit was not asked for. It ends a search, which need not use it up.
    """

    time_limit_s: float | None = None
    seed: int = 0
    restarts: int | None = None
    is_default: bool = False

    def within(self, seconds: float) -> Limits:
        """Return these limits, with `seconds` by default where they name no time."""
        return self if self.time_limit_s is not None else replace(self, time_limit_s=seconds, is_default=True)

    def stopped(self, seconds: float) -> tuple[str, ...]:
        """Return the note of a search that took `seconds`, if the time limit ended it."""
        if self.time_limit_s is None or seconds < self.time_limit_s:
            return ()
        kind = "default time limit" if self.is_default else "time limit"
        return (
            f"the {kind} of {self.time_limit_s:g} s stopped the search: another run may end elsewhere; "
            "a larger time_limit=N may find better",
        )


class Partitioner(ABC):
    """A way to partition. Implementations pass the contract suite of `dse.testing.partitioners`."""

    name: str
    objectives: tuple[str, ...]
    default_time_limit_s: float | None = None
    """Defaults of `dse partition`; None means to the end, or as the partitioner chooses."""
    starts_again: bool = True
    """Whether `Limits.restarts` changes what it does."""

    @abstractmethod
    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Search.

        Raises:
            InputError: the problem is wrong, or not one that this partitioner can solve.
            InfeasiblePartition: no partition keeps the constraints; names device, need and capacity.
        """
