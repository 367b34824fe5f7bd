"""Subsets that are worth it: none other is as fast, as cheap and as roomy, and better in one of these."""

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


def kept_for(subset: Subset, on_front: Sequence[Subset]) -> str:
    """Return why a subset is on a front: what it is the best in, or for which memory it costs more time."""
    own = _values(subset)
    all_values = [_values(other) for other in on_front]
    names = ("least time", "least price per hour", "least memory")
    known = (True, subset.price_per_hour is not None, subset.memory_share is not None)
    best = [
        name
        for i, (name, is_known) in enumerate(zip(names, known, strict=True))
        if is_known and own[i] == min(values[i] for values in all_values)
    ]
    if any(_is_better(values[:2], own[:2]) for values in all_values):
        return "less memory only: others are as fast and as cheap"
    return ", ".join(best) or "no other is as fast for its price"
