"""How cases of one kind become rows: all that executors and sweeps know of points, schedules or plans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from dse.studies.store.records import RecordType
from dse.studies.store.row import Row


class Keyed(Protocol):
    """The inputs that a row is computed from."""

    @property
    def key(self) -> str:
        """A hash of all that the row depends on."""


Case = TypeVar("Case", bound=Keyed)


class Evaluator(ABC, Generic[Case, Row]):
    """Evaluates cases of one kind. It has no state, so that it goes to other processes by its name."""

    record: ClassVar[RecordType[Any]]
    """The type of the rows."""

    takes_long: ClassVar[bool] = True
    """Whether each case is a task and has a process of its own; else many go together, in threads."""

    @abstractmethod
    def evaluate(self, case: Case) -> Row:
        """Return the row of a case; bad cases are rows with a status and a reason.

        Raises:
            InputError: the input is wrong in a way that concerns every case.
        """

    @abstractmethod
    def failed(self, case: Case, status: Any, reason: str) -> Row:
        """Return the row of a case that could not be evaluated, such as one that ends its process."""

    def split(self, case: Case) -> tuple[Any, Any]:
        """Return an object that many cases share, None if there is none, and the rest of the case."""
        return None, case

    def join(self, shared: Any, rest: Any) -> Case:
        """Return the case of both parts of `split`."""
        del shared
        case: Case = rest
        return case

    def programs(self, case: Case) -> Sequence[Any]:
        """Return the objects that run programs for a case, which have `stop` and `is_external`."""
        del case
        return ()

    def uses_programs(self, case: Case) -> bool:
        """Whether programs of the user's own run for a case."""
        return any(program.is_external for program in self.programs(case))
