"""Names of collective algorithms as the engine reads them, and whether a system has synthesised ones."""

from __future__ import annotations

from collections.abc import Sequence

from dse.systems import SystemSpec

PER_DIMENSION = "synthesized"
OVER_ALL_NPUS = "oneSynthesized"
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")


def names_for_engine(names: Sequence[str], dimensions: int) -> list[str]:
    """Return a list of algorithms as the engine reads it: `synthesized` alone is over all dimensions."""
    if dimensions > 1 and list(names) == [PER_DIMENSION]:
        return [OVER_ALL_NPUS]
    return list(names)


def uses_synthesis(system: SystemSpec) -> bool:
    """Whether some collective of a system is synthesised."""
    lists = (getattr(system.collectives, name) for name in COLLECTIVES)
    return any(name in (PER_DIMENSION, OVER_ALL_NPUS) for names in lists for name in names)
