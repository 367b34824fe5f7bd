"""The registry of planners; packages may add others as entry points of `dse.planners`."""

from __future__ import annotations

from dse.base.settings import Accepted, Choices
from dse.planner.search.planner import Planner

_HOME = "dse.planner.search.planners"
_FAST, _EXACT = f"{_HOME}.anytime:AnytimePlanner", f"{_HOME}.exact:ExactPlanner"
_WALK = "is the walk of {} over plans, step by step, to compare with; planner=auto finds better plans"
PLANNERS = Choices(
    "planner",
    "dse.planners",
    {"auto": f"{_HOME}.automatic:AutoPlanner", "fast": _FAST, "exact": _EXACT},
    {
        "metis": Accepted(f"{_HOME}.metis:Metis", _WALK.format("Metis")),
        "metis-strat": Accepted(f"{_HOME}.metis:MetisStrat", _WALK.format("a fork of Metis")),
        "anytime": Accepted(_FAST, "is the search that planner=fast makes"),
        "enumerate": Accepted(_EXACT, "was a baseline; the search of planner=exact takes its place"),
    },
    key="planner",
)


def planner_named(name: str) -> Planner:
    """Return a planner by its name.

    Raises:
        InputError: there is none of this name.
    """
    made: Planner = PLANNERS.load(name)()
    return made
