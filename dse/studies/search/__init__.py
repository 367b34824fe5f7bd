"""Searches behind one small interface: they propose design points, and may learn from their rows."""

from typing import TYPE_CHECKING

from dse.base.lazy import lazily
from dse.studies.search.settings import SearchSettings as SearchSettings

if TYPE_CHECKING:
    from dse.studies.search.base import Points as Points
    from dse.studies.search.base import Search as Search
    from dse.studies.search.base import SearchInputs as SearchInputs
    from dse.studies.search.base import make_search as make_search
    from dse.studies.search.enumeration import Exhaustive as Exhaustive
    from dse.studies.search.enumeration import Pruned as Pruned
    from dse.studies.search.enumeration import RandomSample as RandomSample

__getattr__ = lazily(
    __name__,
    {"base": "Points Search SearchInputs make_search", "enumeration": "Exhaustive Pruned RandomSample"},
)
