"""What a partitioner is: a problem in, the best partition it finds out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from dse.partition.problem import Partition, PartitionProblem


@dataclass(frozen=True)
class Limits:
    """Wall time in seconds (None: to the end), seed of all random draws, and restarts (None: its own)."""

    time_limit_s: float | None = None
    seed: int = 0
    restarts: int | None = None


class Partitioner(ABC):
    """A way to partition. Implementations pass the contract suite of `dse.testing.partitioners`."""

    name: str
    objectives: tuple[str, ...]

    @abstractmethod
    def partition(self, problem: PartitionProblem, limits: Limits) -> Partition:
        """Search.

        Raises:
            InputError: the problem is wrong, or not one that this partitioner can solve.
            InfeasiblePartition: no partition keeps the constraints; names device, need and capacity.
        """
