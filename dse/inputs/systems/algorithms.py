"""Names of collective algorithms that are synthesised, and the synthesizer that such a name may choose."""

from __future__ import annotations

import functools

PER_DIMENSION = "synthesized"
OVER_ALL_NPUS = "oneSynthesized"
SYNTHESIZERS = ("fast", "greedy", "arrival", "restarts", "beam", "symmetric", "improve", "trees")
"""Those of `dse.collectives` whose schedules depend on no clock, so that a point always has the same time."""


@functools.lru_cache(maxsize=1024)  # asked for every dimension and collective of every point
def algorithm_of(name: str) -> tuple[str, str | None]:
    """Return the algorithm and the synthesizer of a name such as `synthesized:beam`; None if not chosen."""
    algorithm, colon, synthesizer = name.partition(":")
    if colon and algorithm in (PER_DIMENSION, OVER_ALL_NPUS):
        return algorithm, synthesizer
    return name, None


@functools.lru_cache(maxsize=1024)
def is_synthesized(name: str) -> bool:
    """Whether schedules are made for a collective with this algorithm."""
    return algorithm_of(name)[0] in (PER_DIMENSION, OVER_ALL_NPUS)


def synthesizer_problem(name: str) -> str:
    """Say what is wrong with the synthesizer that a name chooses; nothing if it is known, or not chosen."""
    algorithm, synthesizer = algorithm_of(name)
    if synthesizer is None or synthesizer in SYNTHESIZERS:
        return ""
    allowed = ", ".join(SYNTHESIZERS)
    if synthesizer in ("auto", "exact"):
        return (
            f"is '{name}', but {synthesizer} may end by the clock, and a point must always have the same "
            f"time; choose {allowed}, or '{algorithm}' for the better of symmetric and restarts"
        )
    return f"is '{name}'; the synthesizer after the colon must be one of {allowed}"
