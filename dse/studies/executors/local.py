"""Threads of this process: the engine releases the GIL, so they use all cores; predictions get processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from dse.base.cancellation import Cancellation, cancellable
from dse.base.errors import Cancelled
from dse.base.machine import usable_cores
from dse.studies.executors.base import Executor
from dse.studies.executors.chunks import ChunkSizer, Item, drawn
from dse.studies.executors.interrupts import noticed_interrupts
from dse.studies.executors.limits import limit_s
from dse.studies.executors.predicting import Predictors
from dse.studies.executors.settings import ExecutorSettings
from dse.studies.points import DesignPoint, evaluate
from dse.studies.store import StudyRow

_IN_FLIGHT_PER_THREAD = 3  # enough to keep a thread busy, few enough that points are drawn lazily
_CHUNK_SECONDS = 0.01  # of work for a future, which itself costs some tens of microseconds
_CHUNK_LIMIT_SECONDS = 0.05  # then the rest of a chunk goes back, so that no thread waits for another
_CHUNK_POINTS = 50  # at most, so that points are drawn lazily
_LOOK_SECONDS = 0.05  # between looks whether Ctrl-C was pressed
_STOP_SECONDS = 0.02  # between attempts to end programs: a point may be about to start one


def make(settings: ExecutorSettings) -> Executor:
    """Return the executor that `executor=local` names."""
    return LocalExecutor(settings.threads, settings.point_timeout_s)


class LocalExecutor(Executor):
    """`threads` None means one for each core that this process may use.

    A point whose engine takes longer than `point_timeout_s` is a row of status `timeout`.
    """

    def __init__(self, threads: int | None = None, point_timeout_s: float | None = None) -> None:
        self._threads = threads or usable_cores()
        self._point_timeout_s = point_timeout_s

    def run(self, points: Iterable[DesignPoint]) -> Iterator[tuple[int, StudyRow]]:
        """See `Executor.run`. An error, Ctrl-C or closing cancels points, and ends the programs of points."""
        source = enumerate(points)
        sizer = ChunkSizer(_CHUNK_SECONDS, _CHUNK_POINTS)
        left: deque[list[Item]] = deque()  # rests of chunks that took too long
        running: dict[Future[list[StudyRow]], list[Item]] = {}
        stopping = Cancellation()
        predictors = Predictors()

        def work(items: list[Item]) -> list[StudyRow]:
            rows: list[StudyRow] = []
            began = time.perf_counter()
            if all(point.scenario.is_predicted for _, point in items):
                rows = [] if stopping.is_cancelled else predictors.rows([point for _, point in items])
                sizer.measured(len(rows), time.perf_counter() - began)
                return rows
            for _, point in items:
                if stopping.is_cancelled:
                    break
                try:
                    rows.append(self._row(point, stopping))
                except Cancelled:
                    break
                seconds = time.perf_counter() - began
                if seconds > _CHUNK_LIMIT_SECONDS:
                    break
            sizer.measured(len(rows), time.perf_counter() - began)
            return rows

        with (
            noticed_interrupts() as interrupts,
            ThreadPoolExecutor(self._threads, thread_name_prefix="dse-point") as pool,
        ):
            try:
                while True:
                    if interrupts:
                        raise KeyboardInterrupt
                    while len(running) < self._threads * _IN_FLIGHT_PER_THREAD:
                        items = left.popleft() if left else drawn(source, sizer.size)
                        if not items:
                            break
                        running[pool.submit(work, items)] = items
                    if not running:
                        return
                    for future in wait(running, _LOOK_SECONDS, FIRST_COMPLETED).done:
                        items, rows = running.pop(future), future.result()
                        rest = items[len(rows) :]
                        left.extend([item] for item in rest)
                        for (index, _), row in zip(items, rows, strict=False):
                            yield index, row
            finally:
                stopping.cancel()
                for future in running:
                    future.cancel()
                predictors.stop()
                while wait(running, timeout=_STOP_SECONDS).not_done:
                    for items in running.values():
                        for scenario in {id(point.scenario): point.scenario for _, point in items}.values():
                            scenario.stop()

    def _row(self, point: DesignPoint, stopping: Cancellation) -> StudyRow:
        limit = limit_s(point.scenario, self._point_timeout_s)
        if limit is None:
            with cancellable(stopping):
                return evaluate(point)
        reason = f"took longer than {limit:g} s (executor.point_timeout_s)"
        with cancellable(stopping.limited_to(limit, reason)):
            return evaluate(point)
