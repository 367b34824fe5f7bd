"""Searches behind one small interface: they propose design points, and may learn from their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.search.base import Search
from dse.search.enumeration import Exhaustive, Points, Pruned, RandomSample

if TYPE_CHECKING:
    from dse.config import Config

__all__ = ["Exhaustive", "Points", "Pruned", "RandomSample", "Search", "make_search"]


def make_search(config: Config, points: Points) -> Search:
    """Return the search that the configuration names; `points` enumerates its space.

    Raises:
        InputError: a budget or objective cannot be parsed, or Optuna is missing.
    """
    search = config.search
    if search.name == "optuna":
        from dse.search.optuna_search import OptunaSearch

        return OptunaSearch.from_config(config)
    if search.name == "random":
        assert search.samples is not None
        return RandomSample(points, search.samples, search.seed)
    if search.prune:
        return Pruned(points, config.memory_cap_bytes)
    return Exhaustive(points)
