"""The registry of partitioners; packages may add others as entry points of `dse.partitioners`."""

from __future__ import annotations

from dse.base.settings import Accepted, Choices
from dse.partition.search.partitioner import Partitioner

_HOME = "dse.partition.search.partitioners"
_EXACT, _FAST = f"{_HOME}.exact:Exact", f"{_HOME}.multilevel:Multilevel"
PARTITIONERS = Choices(
    "partitioner",
    "dse.partitioners",
    {"auto": f"{_HOME}.automatic:Auto", "fast": _FAST, "exact": _EXACT},
    {
        "multilevel": Accepted(_FAST, "is the search that partitioner=fast makes"),
        "heuristic": Accepted(_FAST, "was a baseline; the search of partitioner=fast takes its place"),
        "hierarchical": Accepted(_FAST, "was a baseline; the search of partitioner=fast takes its place"),
        "brute_force": Accepted(_EXACT, "was a baseline; the search of partitioner=exact takes its place"),
        "enumerate": Accepted(_EXACT, "was a baseline; the search of partitioner=exact takes its place"),
    },
    key="partitioner",
)


def partitioner_named(name: str) -> Partitioner:
    """Return the partitioner of this name.

    Raises:
        InputError: there is none; lists all.
    """
    made: Partitioner = PARTITIONERS.load(name)()
    return made
