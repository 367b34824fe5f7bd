"""The contract of an executor: design points in, one row each out, in the order in which they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from dse.studies.points import DesignPoint
from dse.studies.store import StudyRow


class Executor(ABC):
    """Evaluates points. Every point yields one row; bad points are rows with a status, not exceptions."""

    @abstractmethod
    def run(self, points: Iterable[DesignPoint]) -> Iterator[tuple[int, StudyRow]]:
        """Yield (index of the point, row) as points finish.

        Raises:
            InputError: a point cannot be evaluated because its input is wrong (not because it is infeasible).
        """
