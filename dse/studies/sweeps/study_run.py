"""One run of a study of any record: rows that it lacks are made and stored, and the run is written down."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol

from dse.base.errors import InputError
from dse.base.lazy import pc
from dse.base.progress_bars import progress_bar
from dse.base.signals import INTERRUPTED, putting_away
from dse.base.units import format_duration_ns
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors import Executor, ExecutorSettings, make_executor
from dse.studies.search import Exhaustive, Search
from dse.studies.store import RecordType, StudyStore
from dse.studies.store.history import finish_sweep, key_digits, plan_sweep
from dse.studies.store.row import Row, row_count
from dse.studies.sweeps.driver import SweepResult, run_sweep
from dse.studies.sweeps.provenance import provenance, sweep_name
from dse.studies.sweeps.writer import StudyWriter


class Progress:
    """A context manager; silent where stderr is not a terminal."""

    def __init__(self, total: int | None, unit: str = "point") -> None:
        """`total` is the number of cases to evaluate, None if it is not known; `unit` is one of them."""
        self._bar = progress_bar(unit, total)
        self._best_ns: int | None = None

    def __enter__(self) -> Progress:
        """Show the bar."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it stands."""
        self._bar.close()

    def add(self, row: Any) -> None:
        """Count a row, or those of a table; those of points have a `wall_time_ns`."""
        if hasattr(row, "num_rows"):
            wall_time_ns = pc.min(row["wall_time_ns"]).as_py()
        else:
            wall_time_ns = getattr(row, "wall_time_ns", None)
        if wall_time_ns is not None and (self._best_ns is None or wall_time_ns < self._best_ns):
            self._best_ns = wall_time_ns
            self._bar.set_postfix_str(f"best {format_duration_ns(wall_time_ns)}", refresh=False)
        self._bar.update(row_count(row))


class RowCounter(Protocol):
    """Counts the rows of a sweep."""

    def add(self, row: Any) -> object:
        """Take a row, or a table of rows, that has just been evaluated."""


MakeCounter = Callable[[int | None], AbstractContextManager[RowCounter]]
"""Makes a counter for a sweep of so many rows, None if that is not known; it is entered while rows come."""


@contextlib.contextmanager
def opened_study(folder: Path, record: RecordType[Row]) -> Iterator[StudyStore[Row]]:
    """Yield a study that can be written; a new one that stays empty because of wrong input is removed.

    Raises:
        InputError: the folder cannot be written, or its rows are of another type.
    """
    is_new = not StudyStore(folder, record).exists()
    store = StudyStore.create(folder, record)
    try:
        yield store
    except InputError:
        if is_new:
            store.remove_if_empty()  # refused before anything was written down
        raise


@dataclass(frozen=True)
class StudyRun(Generic[Row]):
    """A request: its `command`, its `configuration` as YAML, and its `points` as provenance has them.

    `digits` are those of the keys of all cases (`dse.studies.store.history.key_digits`), None if they are not
    known. A run that `is_planned` is written down at once, any other with its first row.
    """

    store: StudyStore[Row]
    command: Sequence[str]
    configuration: str
    points: Mapping[str, int | None]
    digits: bytes | None = None
    is_planned: bool = True

    def evaluate(
        self,
        search: Search,
        executor: Executor,
        known: set[str],
        counter: AbstractContextManager[RowCounter],
    ) -> SweepResult:
        """Evaluate what the search proposes and is not `known`, which grows by it.

        Raises:
            InputError: a wrong input, or a study that cannot be written; what is computed stays stored.
        """
        name = sweep_name()
        recorded = self.is_planned
        if recorded:
            self._begin(name)

        def on_row(row: Any) -> None:
            nonlocal recorded
            if not recorded:  # a search that computes nothing leaves no trace
                self._begin(name)
                recorded = True
            counting.add(row)

        stays = f"the same command goes on from what is stored in {self.store.folder}"
        with putting_away(f"{INTERRUPTED}; {stays}"), counter as counting:
            return run_sweep(search, executor, self.store, known=known, on_row=on_row)

    def merge(self, keys: Sequence[str]) -> SweepResult:
        """Merge what killed runs left, where no row is missing."""
        with putting_away(), StudyWriter(self.store):
            return SweepResult(list(keys))

    def finish(self, known: set[str]) -> None:
        """Forget what is planned no more; `known` are the keys of the study now."""
        finish_sweep(self.store, self.configuration, known)

    def record(self, name: str) -> None:
        """Write down who asked for what."""
        self.store.record_sweep(name, provenance(self.command, self.configuration, self.points))

    def _begin(self, name: str) -> None:
        plan_sweep(self.store, name, self.configuration, self.digits)
        self.record(name)


def run_cases(
    evaluator: Evaluator[Case, Row],
    folder: Path,
    cases: Sequence[Case],
    settings: ExecutorSettings,
    command: Sequence[str] = (),
    configuration: str = "{}",
    progress: MakeCounter = Progress,
) -> tuple[list[Row], int]:
    """Evaluate the cases that a study lacks; return the rows of all cases, and how many were computed.

    Raises:
        InputError: the study cannot be read or written, or Ray does not start.
    """
    record: RecordType[Row] = evaluator.record
    store = StudyStore(folder, record)
    known = store.keys(without=record.transient) if store.exists() else set()
    keys = list(dict.fromkeys(case.key for case in cases))
    missing = sum(key not in known for key in keys)
    if missing:
        digits = b"".join(map(key_digits, keys))
        everything: Any = lambda: iter(cases)  # noqa: E731 (any cases are points to a search)
        with opened_study(folder, record):
            run = StudyRun(store, command, configuration, {"planned": len(keys)}, digits)
            executor, _ = make_executor(settings, evaluator=evaluator)
            run.evaluate(Exhaustive(everything), executor, known, progress(missing))
            run.finish(known)
    wanted, key_of = set(keys), attrgetter(record.key)
    return [row for row in store.rows() if key_of(row) in wanted], missing
