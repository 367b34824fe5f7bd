"""Planners by name; a planner's module is imported when it is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.planner.search.planner import Planner

_HOMES = {
    "metis": "dse.planner.search.planners.metis:Metis",
    "metis-strat": "dse.planner.search.planners.metis:MetisStrat",
    "exact": "dse.planner.search.planners.exact:ExactPlanner",
    "anytime": "dse.planner.search.planners.anytime:AnytimePlanner",
    "enumerate": "dse.planner.search.planners.enumerate:EnumeratePlanner",
}


class _Planners(Mapping[str, type[Planner]]):
    """Planner classes by name, imported one by one."""

    def __getitem__(self, name: str) -> type[Planner]:
        module, class_ = _HOMES[name].split(":")
        planner: type[Planner] = getattr(importlib.import_module(module), class_)
        return planner

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


PLANNERS: Mapping[str, type[Planner]] = _Planners()


def planner_named(name: str) -> Planner:
    """Return a planner by its name.

    Raises:
        InputError: there is none of this name.
    """
    if name not in _HOMES:
        raise InputError(f"planner={name}: must be one of {', '.join(_HOMES)}{did_you_mean(name, _HOMES)}")
    return PLANNERS[name]()
