"""Searches behind one small interface: they propose design points, and may learn from their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.lazy import lazily
from dse.search.settings import SearchSettings as SearchSettings
from dse.search.settings import make_search as make_search

if TYPE_CHECKING:
    from dse.search.base import Points as Points
    from dse.search.base import Search as Search
    from dse.search.base import SearchInputs as SearchInputs
    from dse.search.enumeration import Exhaustive as Exhaustive
    from dse.search.enumeration import Pruned as Pruned
    from dse.search.enumeration import RandomSample as RandomSample

__getattr__ = lazily(
    __name__,
    {"base": "Points Search SearchInputs", "enumeration": "Exhaustive Pruned RandomSample"},
)
