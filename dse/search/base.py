"""What a search is: it proposes batches of design points, and may learn from their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from dse.points import DesignPoint
from dse.results import StudyRow


class Search(ABC):
    """Proposes points. The same search proposes the same points again where it is told the same rows.

    That makes every search resumable: what it proposes again is in the study already, and its row is told
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
        """What a user should know at the end, one line each, such as how many points were pruned."""
        return []
