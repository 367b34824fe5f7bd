"""The partitioners by name."""

from __future__ import annotations

from collections.abc import Mapping

from dse.base.errors import InputError
from dse.partition.search.partitioner import Limits, Partitioner
from dse.partition.search.partitioners.automatic import Auto
from dse.partition.search.partitioners.brute_force import BruteForce
from dse.partition.search.partitioners.enumeration import Enumeration
from dse.partition.search.partitioners.exact import Exact
from dse.partition.search.partitioners.heuristic import Heuristic
from dse.partition.search.partitioners.hierarchical import Hierarchical
from dse.partition.search.partitioners.multilevel import Multilevel
from dse.partition.search.partitioners.packages import KaHIP, PyMetis

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
