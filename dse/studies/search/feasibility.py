"""Checks of a space before anything is proposed: impossible values, and the number of points."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from dse.base.errors import InputError
from dse.studies.search.view import Choice, View

_COUNTED_CHOICES = 256  # a space of so many choices, and so many points, is counted
_COUNTED_POINTS = 20_000
_GROUPS = 2  # the first parameters, model and system, are whole files of conf/: valid by themselves


def refuse_impossible_values(view: View) -> None:
    """Refuse a value of an axis that is not valid with the first values of the others, nor with any of one.

    Raises:
        InputError: that of the first of these choices.
    """
    sizes = [parameter.size for parameter in view.parameters]
    for position, size in enumerate(sizes):
        if position < _GROUPS or size > _COUNTED_CHOICES:
            continue
        for index in range(size):
            problems = []
            for choice in _around(sizes, position, index):
                try:
                    view.points(choice)
                except InputError as error:
                    problems.append(error)
                else:
                    problems.clear()
                    break
            if problems:
                raise problems[0]


def _around(sizes: Sequence[int], position: int, index: int) -> Iterator[Choice]:
    """Iterate over choices with `index` at `position`, at most one other index not 0."""
    base = [index if each == position else 0 for each in range(len(sizes))]
    yield tuple(base)
    for other, size in enumerate(sizes):
        for changed in range(1, size if other != position else 1):
            yield tuple([changed if each == other else value for each, value in enumerate(base)])


def count_points(view: View) -> tuple[int, int] | None:
    """Return the number of feasible and of infeasible points; None if counting would take long.

    Raises:
        InputError: a choice is no valid model or system.
    """
    if view.choices > _COUNTED_CHOICES:
        return None
    feasible = infeasible = 0
    for choice in itertools.product(*[range(parameter.size) for parameter in view.parameters]):
        feasible += len(view.points(choice))
        infeasible += view.infeasible(choice)
        if feasible + infeasible > _COUNTED_POINTS:
            return None
    return feasible, infeasible
