"""The contract of an executor: cases in, one row each out, in the order in which they finish."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar


class Executor(ABC):
    """Evaluates design points, or other cases whose `Evaluator` it was made with.

    Every case yields one row; bad ones are rows with a status, not exceptions.
    """

    takes_blocks: ClassVar[bool] = False
    """Whether a case may be a block of points (`dse.studies.points.blocks`), whose rows come as a table."""

    @abstractmethod
    def run(self, points: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield (index of the case, row) as cases finish.

        Raises:
            InputError: a case cannot be evaluated because its input is wrong (not because it is infeasible).
        """
