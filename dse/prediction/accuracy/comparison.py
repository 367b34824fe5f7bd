"""A measured step next to its prediction, or to the reason why there is none."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn

from dse.base.errors import DseError
from dse.base.texts import one_line
from dse.inputs.accelerators import accelerator
from dse.prediction.intervals.interval import Interval, interval_of
from dse.prediction.intervals.kinds import Kind, kind_of
from dse.prediction.measured.cases import Case, case_of, predicted_cases
from dse.prediction.measured.hardware import framework_of
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.predict import PARTS, Figures, Prediction, Verdict, margin_of, predict, verdict

GIB = 2**30
_BUG = "a bug"


@dataclass(frozen=True)
class Compared:
    """A row; either `reason` says why it has no prediction, or the other fields are there.

    `parts_s` sum to `predicted_s`. `kind` is that of the step, `assumed` says what the row leaves open and
    the prediction takes for it.
    """

    row: MeasuredRow
    reason: str = ""
    predicted_s: float = 0.0
    parts_s: Mapping[str, float] = field(default_factory=dict)
    peak_memory_bytes: int = 0
    assumed: tuple[str, ...] = ()
    kind: Kind | None = None

    @property
    def is_expressible(self) -> bool:
        """Whether there is a prediction."""
        return not self.reason

    @property
    def is_bug(self) -> bool:
        """Whether the prediction failed by an error of the program."""
        return self.reason.startswith(_BUG)

    @property
    def error_pct(self) -> float:
        """Predicted over measured time, less 1, in %."""
        return 100 * (self.predicted_s / self.row.iter_s - 1)

    @property
    def interval(self) -> Interval | None:
        """Where such steps come out; None without a prediction, or where nothing was measured."""
        return None if self.kind is None else interval_of(self.kind)

    @property
    def range_s(self) -> tuple[float, float] | None:
        """From when to when 80 % of such steps end; None without an interval."""
        if self.interval is None:
            return None
        return self.predicted_s * self.interval.low, self.predicted_s * self.interval.high

    @property
    def memory_error_pct(self) -> float | None:
        """The same of the peak memory; None where none was measured."""
        if self.row.measured_memory_gib is None:
            return None
        return 100 * (self.peak_memory_bytes / GIB / self.row.measured_memory_gib - 1)

    @property
    def memory_verdict(self) -> Verdict | None:
        """Whether the predicted peak fits, which it did; None without a prediction.

        None as well where a row does not say what is recomputed, and does not fit with nothing recomputed.
        """
        if not self.is_expressible:
            return None
        capacity = accelerator(self.row.gpu, "gpu").usable_memory_bytes
        found = verdict(self.peak_memory_bytes, capacity, margin_of(framework_of(self.row)[0]))
        return None if found == "does not fit" and not self.row.recompute else found


Predictor = Callable[[MeasuredRow], "tuple[Prediction, tuple[str, ...]]"]


def predict_row(row: MeasuredRow) -> tuple[Prediction, tuple[str, ...]]:
    """Return the prediction of a row with the constants that are shipped, and what it assumes.

    Raises:
        DseError: the row cannot be expressed, or its plan cannot run; the text says why.
    """
    case = case_of(row)
    return predict(case.model, case.plan, case.cluster), case.assumed


def compare(
    rows: Iterable[MeasuredRow], predictor: Predictor = predict_row, limit_s: float | None = None
) -> list[Compared]:
    """Predict each row; one that takes longer than `limit_s` is given up.

    A limit holds in the main thread only, where signals arrive. A prediction that fails by a bug does not
    take the others with it: its reason begins with `a bug`.
    """
    given = list(rows)
    if predictor is predict_row and limit_s is None:
        with contextlib.suppress(Exception):  # row by row it is known whose bug it is
            return [_together(*found) for found in predicted_cases(given)]
    return [_compared(row, predictor, limit_s) for row in given]


def _together(row: MeasuredRow, case: Case | None, found: Figures | str) -> Compared:
    """Return a row that was predicted in a batch."""
    if case is None or isinstance(found, str):
        return Compared(row, one_line(found))
    return Compared(
        row,
        predicted_s=found.step_s,
        parts_s=dict(zip(PARTS, found.parts_s, strict=True)),
        peak_memory_bytes=found.peak_memory_bytes,
        assumed=case.assumed,
        kind=kind_of(case.model, case.plan, case.cluster),
    )


def _compared(row: MeasuredRow, predictor: Predictor, limit_s: float | None) -> Compared:
    try:
        with _at_most(limit_s):
            prediction, assumed = predictor(row)
    except _OutOfTimeError:
        return Compared(row, f"took longer than the limit of {limit_s:g} s")
    except DseError as error:
        return Compared(row, one_line(error) or type(error).__name__)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{last.filename.rpartition('/')[2]}:{last.lineno}"
        return Compared(row, f"{_BUG}: {type(error).__name__} in {place}: {one_line(error)}")
    return Compared(
        row,
        predicted_s=prediction.step_s,
        parts_s=prediction.parts_s,
        peak_memory_bytes=prediction.peak_memory_bytes,
        assumed=assumed,
        kind=None if prediction.interval is None else prediction.interval.kind,
    )


class _OutOfTimeError(BaseException):
    """No `except Exception` of what is interrupted takes it for its own."""


@contextlib.contextmanager
def _at_most(seconds: float | None) -> Iterator[None]:
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def give_up(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
