"""Names of collective algorithms as the engine reads them, and whether a system has synthesised ones."""

from __future__ import annotations

from collections.abc import Sequence

from dse.inputs.systems import OVER_ALL_NPUS, PER_DIMENSION, SystemSpec, algorithm_of, is_synthesized
from dse.inputs.systems.validation import COLLECTIVES


def names_for_engine(names: Sequence[str], dimensions: int) -> list[str]:
    """Return a list of algorithms as the engine reads it: `synthesized` alone is over all dimensions."""
    plain = [algorithm_of(name)[0] for name in names]
    if dimensions > 1 and plain == [PER_DIMENSION]:
        return [OVER_ALL_NPUS]
    return plain


def synthesizer_of(names: Sequence[str]) -> str | None:
    """Return the synthesizer that a list of algorithms names first, None if it leaves the choice."""
    return next((chosen for _, chosen in map(algorithm_of, names) if chosen is not None), None)


def uses_synthesis(system: SystemSpec) -> bool:
    """Whether some collective of a system is synthesised."""
    return any(any(map(is_synthesized, getattr(system.collectives, name))) for name in COLLECTIVES)
