"""Which subsets are worth it: none other is as fast, as cheap and as roomy, and better in one of these."""

from __future__ import annotations

from collections.abc import Sequence

from dse.planner.questions.subsets import Subset


def front(found: Sequence[Subset]) -> list[Subset]:
    """Return the subsets on the Pareto front of step time, price per hour and memory share, fastest first.

    What is unknown of all, prices or memory, is not compared.
    """
    known = [subset for subset in found if subset.step_ms is not None]
    values = {id(subset): _values(subset) for subset in known}
    kept = [
        subset
        for subset in known
        if not any(_is_better(values[id(other)], values[id(subset)]) for other in known)
    ]
    unique = {values[id(subset)]: subset for subset in reversed(kept)}
    return sorted(unique.values(), key=lambda subset: values[id(subset)])


def _values(subset: Subset) -> tuple[float, float, float]:
    return (subset.step_ms or 0.0, subset.price_per_hour or 0.0, subset.memory_share or 0.0)


def _is_better(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
