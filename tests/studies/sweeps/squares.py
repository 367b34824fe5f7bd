"""A record of no product: numbers and their squares, for tests of the run of any study.

Annotations are evaluated here: workers of Ray get the classes by value, without the names of this module.
"""

import os
import signal
from dataclasses import dataclass
from typing import Annotated

from dse.base.errors import InputError
from dse.studies.evaluator import Evaluator
from dse.studies.store.records import RecordType, number, repeated_text, text


@dataclass(frozen=True)
class SquareRow:
    """A number and its square, None if it failed."""

    value: Annotated[int, number("the number")]
    process: Annotated[int, number("the process that computed it")]
    status: Annotated[str, repeated_text("how it ended")]
    reason: Annotated[str, repeated_text("why there is no square")]
    square: Annotated[int | None, number("the square")]
    key: Annotated[str, text("a hash of the number")]


SQUARES = RecordType("square", SquareRow, ("value", "key"), status="status", transient=("failed",))


@dataclass(frozen=True)
class Number:
    """A case; 13 is refused, and 666 ends the process."""

    value: int

    @property
    def key(self) -> str:
        """The number in hexadecimal digits."""
        return f"{self.value:016x}" * 2


class SquareEvaluator(Evaluator[Number, SquareRow]):
    """Squares numbers, each of which is taken to be a long task."""

    record = SQUARES

    def evaluate(self, case: Number) -> SquareRow:
        """See `Evaluator.evaluate`."""
        if case.value == 13:
            raise InputError("13 is no number for a square")
        if case.value == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._row(case, "ok", "", square=case.value**2)

    def failed(self, case: Number, status: str, reason: str) -> SquareRow:
        """See `Evaluator.failed`."""
        return self._row(case, status, reason)

    def _row(self, case: Number, status: str, reason: str, **found: int) -> SquareRow:
        return SQUARES.row_of(
            value=case.value, process=os.getpid(), status=status, reason=reason, key=case.key, **found
        )


class QuickSquareEvaluator(SquareEvaluator):
    """Squares numbers many together, in threads."""

    takes_long = False
