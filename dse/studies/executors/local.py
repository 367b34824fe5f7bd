"""Threads of this process, which use all cores: the engine releases the GIL. What is slow has processes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain
from typing import Any

from dse.base.cancellation import Cancellation, cancellable
from dse.base.errors import Cancelled, SimulationTimeout
from dse.base.machine import usable_cores
from dse.studies.evaluator import Evaluator
from dse.studies.executors.backlog import Backlog, Items
from dse.studies.executors.base import Executor
from dse.studies.executors.chunks import Item, drawn, limit_s
from dse.studies.executors.interrupts import noticed_interrupts
from dse.studies.executors.processes import Processes
from dse.studies.executors.settings import ExecutorSettings
from dse.studies.points.evaluator import PointEvaluator

_IN_FLIGHT_PER_THREAD = 3  # enough to keep a thread busy, few enough that cases are drawn lazily
_CHUNK_LIMIT_SECONDS = 0.05  # then the rest of a chunk goes back, so that no thread waits for another
_CHUNK_CASES = 50  # at most, so that cases are drawn lazily
_LOOK_SECONDS = 0.05  # between looks whether Ctrl-C was pressed
_STOP_SECONDS = 0.02  # between attempts to end programs: a case may be about to start one


def make(settings: ExecutorSettings, evaluator: Evaluator[Any, Any] | None = None) -> Executor:
    """Return the executor that `executor=local` names, of points if no other evaluator is given."""
    return LocalExecutor(settings.threads, settings.point_timeout_s, evaluator)


class LocalExecutor(Executor):
    """`threads` None means one for each core that this process may use.

    It takes blocks of points too. A case whose engine takes longer than `point_timeout_s` is a row of status
    `timeout`.
    """

    takes_blocks = True

    def __init__(
        self,
        threads: int | None = None,
        point_timeout_s: float | None = None,
        evaluator: Evaluator[Any, Any] | None = None,
    ) -> None:
        self._threads = threads or usable_cores()
        self._point_timeout_s = point_timeout_s
        self._evaluator = evaluator or PointEvaluator()

    def run(self, points: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """See `Executor.run`. An error, Ctrl-C or closing cancels cases, and ends the programs of cases."""
        evaluator = self._evaluator
        source: Iterator[Item[Any]] = enumerate(points)
        if not evaluator.takes_long:
            yield from self._in_threads(source, self._threads)
            return
        first = drawn(source, self._threads)
        source = chain(first, source)
        if len(first) > 1:
            yield from self._in_threads(source, len(first))
            return
        for index, case in source:  # one at a time needs no other process
            yield index, evaluator.evaluate(case)

    def _in_threads(self, source: Iterator[Item[Any]], threads: int) -> Iterator[tuple[int, Any]]:
        backlog = Backlog(source, 1 if self._evaluator.takes_long else _CHUNK_CASES)
        running: dict[Future[list[Any]], Items] = {}
        stopping = Cancellation()
        processes = Processes(self._evaluator)

        def work(items: Items) -> list[Any]:
            began, began_cpu = time.perf_counter(), time.thread_time()
            rows = self._rows(items, stopping, processes)
            backlog.measured(items, rows, time.perf_counter() - began, time.thread_time() - began_cpu)
            return rows

        with (
            noticed_interrupts() as interrupts,
            ThreadPoolExecutor(threads, thread_name_prefix="dse-case") as pool,
        ):
            try:
                while True:
                    if interrupts:
                        raise KeyboardInterrupt
                    while len(running) < threads * _IN_FLIGHT_PER_THREAD and (items := backlog.chunk()):
                        running[pool.submit(work, items)] = items
                    if not running:
                        return
                    done = wait(running, _LOOK_SECONDS, FIRST_COMPLETED).done
                    # In the order of cases, so that rows of earlier ones stay where a later one fails.
                    for future in [each for each in running if each in done]:
                        items, rows = running.pop(future), future.result()
                        backlog.put_back(items, rows)
                        for (index, _), row in zip(items, rows, strict=False):
                            yield index, row
            finally:
                stopping.cancel()
                for future in running:
                    future.cancel()
                processes.stop()
                while wait(running, timeout=_STOP_SECONDS).not_done:
                    for program in self._programs(running.values()):
                        program.stop()

    def _rows(self, items: Items, stopping: Cancellation, processes: Processes[Any, Any]) -> list[Any]:
        """Return the rows of the first cases: fewer where they take long, or where the sweep stops."""
        if self._evaluator.takes_long:
            return [] if stopping.is_cancelled else processes.rows([case for _, case in items])
        rows: list[Any] = []
        began = time.perf_counter()
        for _, case in items:
            if stopping.is_cancelled:
                break
            try:
                rows.append(self._row(case, stopping))
            except Cancelled:
                break
            if time.perf_counter() - began > _CHUNK_LIMIT_SECONDS:
                break
        return rows

    def _programs(self, chunks: Iterable[Items]) -> Iterable[Any]:
        """Return the objects that run programs for these cases, each once."""
        cases = [case for items in chunks for _, case in items]
        return {id(each): each for case in cases for each in self._evaluator.programs(case)}.values()

    def _row(self, case: Any, stopping: Cancellation) -> Any:
        limit = limit_s(self._evaluator, case, self._point_timeout_s)
        if limit is None:
            with cancellable(stopping):
                return self._evaluator.evaluate(case)
        reason = f"took longer than {limit:g} s (executor.point_timeout_s)"
        try:
            with cancellable(stopping.limited_to(limit, reason)):
                return self._evaluator.evaluate(case)
        except SimulationTimeout:  # a block has no row of this status: its first point may be the slow one
            return self._evaluator.record.table([self._row(case.point(0), stopping)])
