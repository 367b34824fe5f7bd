"""The contract of a search: it proposes batches of design points, and may learn from their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, cast

from dse.inputs.models import ModelSpec
from dse.inputs.systems import SystemSpec
from dse.studies.points import DesignPoint, ScenarioInputs
from dse.studies.search.settings import SEARCHES, SearchSettings
from dse.studies.space import DesignSpace
from dse.studies.store import StudyRow

Points = Callable[[], Iterator[DesignPoint]]
"""Enumerates a space from its beginning, in a fixed order."""


class SearchInputs(ScenarioInputs, Protocol):
    """A search's inputs from a configuration: its settings, the space, all models and systems, the cap."""

    @property
    def search(self) -> SearchSettings: ...  # noqa: D102
    @property
    def space(self) -> DesignSpace: ...  # noqa: D102
    @property
    def models(self) -> tuple[ModelSpec, ...]: ...  # noqa: D102
    @property
    def systems(self) -> tuple[SystemSpec, ...]: ...  # noqa: D102
    @property
    def memory_cap_bytes(self) -> int: ...  # noqa: D102
    @property
    def chosen_cap_bytes(self) -> int | None: ...  # noqa: D102


def coverage(name: str, evaluated: int, feasible: int, infeasible: int) -> str:
    """Say how much of a space a search has evaluated, in one line."""
    points = feasible + infeasible
    if evaluated < feasible:
        left_out = f"; {infeasible} others are infeasible" if infeasible else ""
        return f"search={name}: {evaluated} of {points} points{left_out}"
    return (
        f"search={name}: all {feasible} feasible of {points} points"
        if infeasible
        else (f"search={name}: all {points} points")
    )


def none_feasible(name: str, points: int) -> str:
    """Say that a search has nothing to propose, and how to see why."""
    return f"search={name}: none of the {points} points is feasible; search=exhaustive says why of each"


class Search(ABC):
    """Proposes points. The same search proposes the same points again where it gets the same rows.

    That makes every search resumable: what it proposes again is in the study already, and its row comes
    from there instead of being computed.
    """

    learns = False
    """Whether `tell` is called: once for every point (by its key) that is drawn, in any order, before the
    next batch is asked for."""

    @abstractmethod
    def batches(self) -> Iterator[Iterable[DesignPoint]]:
        """Yield batches of points, which are drawn lazily; the next batch comes after all rows of the last.

        Raises:
            InputError: the space is empty, or a constraint cannot be evaluated.
        """

    def tell(self, row: StudyRow) -> None:  # noqa: B027 (most do not learn)
        """Learn from a row, computed or stored before."""

    def notes(self) -> list[str]:
        """Notes for the user at the end, one line each, such as how many points were pruned."""
        return []


def make_search(inputs: SearchInputs, points: Points) -> Search:
    """Return the search that the configuration names; `points` enumerates its space.

    Raises:
        InputError: a budget or objective cannot be parsed, or Optuna is missing.
    """
    return cast("Search", SEARCHES.load(inputs.search.name)(inputs, points))
