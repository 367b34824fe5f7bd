"""The partitioners by name."""

from __future__ import annotations

from collections.abc import Mapping

from dse.errors import InputError
from dse.partition.partitioner import Limits, Partitioner
from dse.partition.partitioners.automatic import Auto
from dse.partition.partitioners.brute_force import BruteForce
from dse.partition.partitioners.enumeration import Enumeration
from dse.partition.partitioners.exact import Exact
from dse.partition.partitioners.heuristic import Heuristic
from dse.partition.partitioners.hierarchical import Hierarchical
from dse.partition.partitioners.multilevel import Multilevel
from dse.partition.partitioners.packages import KaHIP, PyMetis

__all__ = ["PARTITIONERS", "Limits", "Partitioner", "partitioner_named"]

PARTITIONERS: Mapping[str, type[Partitioner]] = {
    partitioner.name: partitioner
    for partitioner in (
        *(Auto, Exact, Multilevel, Hierarchical, Heuristic, BruteForce, Enumeration, PyMetis, KaHIP),
    )
}


def partitioner_named(name: str) -> Partitioner:
    """Return the partitioner of this name.

    Raises:
        InputError: there is none; lists all.
    """
    if name not in PARTITIONERS:
        raise InputError(f"partitioner={name}: allowed are {', '.join(PARTITIONERS)}")
    return PARTITIONERS[name]()
