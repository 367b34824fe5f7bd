"""Threads of this process, which use all cores: the engine releases the GIL. What is slow has processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain
from typing import Any

from dse.base.cancellation import Cancellation, cancellable
from dse.base.errors import Cancelled, SimulationTimeout
from dse.base.machine import usable_cores
from dse.studies.evaluator import Evaluator
from dse.studies.executors.base import Executor
from dse.studies.executors.chunks import ChunkSizer, Item, drawn, limit_s
from dse.studies.executors.interrupts import noticed_interrupts
from dse.studies.executors.processes import Processes
from dse.studies.executors.settings import ExecutorSettings
from dse.studies.points.blocks import MOST_POINTS, PointBlock
from dse.studies.points.evaluator import PointEvaluator
from dse.studies.store.row import row_count

_IN_FLIGHT_PER_THREAD = 3  # enough to keep a thread busy, few enough that cases are drawn lazily
_CHUNK_SECONDS = 0.01  # of work for a future, which itself costs some tens of microseconds
_CHUNK_LIMIT_SECONDS = 0.05  # then the rest of a chunk goes back, so that no thread waits for another
_CHUNK_CASES = 50  # at most, so that cases are drawn lazily
_BLOCK_SECONDS = 0.05  # of work for a part of a block, whose table takes some ms
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
        evaluator = self._evaluator
        sizer = ChunkSizer(_CHUNK_SECONDS, 1 if evaluator.takes_long else _CHUNK_CASES)
        of_blocks = ChunkSizer(_BLOCK_SECONDS, MOST_POINTS)
        left: deque[list[Item[Any]]] = deque()  # rests of chunks that took too long
        running: dict[Future[list[Any]], list[Item[Any]]] = {}
        stopping = Cancellation()
        processes = Processes(evaluator)

        def work(items: list[Item[Any]]) -> list[Any]:
            rows: list[Any] = []
            began, began_cpu = time.perf_counter(), time.thread_time()
            if evaluator.takes_long:
                rows = [] if stopping.is_cancelled else processes.rows([case for _, case in items])
                sizer.measured(len(rows), time.perf_counter() - began)
                return rows
            for _, case in items:
                if stopping.is_cancelled:
                    break
                try:
                    rows.append(self._row(case, stopping))
                except Cancelled:
                    break
                seconds = time.perf_counter() - began
                if seconds > _CHUNK_LIMIT_SECONDS:
                    break
            if _is_block(items):
                of_blocks.measured(sum(map(row_count, rows)), time.thread_time() - began_cpu)
            else:
                sizer.measured(len(rows), time.perf_counter() - began)
            return rows

        def chunk() -> list[Item[Any]]:
            """Return the next cases: single ones, or a part of a block that takes as long."""
            items = left.popleft() if left else drawn(source, 1)
            if not _is_block(items):
                return items
            ((index, block),) = items
            most = max(of_blocks.size, block.scenario.method.least_block)
            if len(block) <= most:
                return items
            left.appendleft([(index, block.take(slice(most, None)))])
            return [(index, block.take(slice(most)))]

        with (
            noticed_interrupts() as interrupts,
            ThreadPoolExecutor(threads, thread_name_prefix="dse-case") as pool,
        ):
            try:
                while True:
                    if interrupts:
                        raise KeyboardInterrupt
                    while len(running) < threads * _IN_FLIGHT_PER_THREAD:
                        is_rest = bool(left)
                        items = chunk()
                        if not items:
                            break
                        if not is_rest and not _is_block(items):
                            items += drawn(source, sizer.size - 1)
                        running[pool.submit(work, items)] = items
                    if not running:
                        return
                    done = wait(running, _LOOK_SECONDS, FIRST_COMPLETED).done
                    # In the order of cases, so that rows of earlier ones stay where a later one fails.
                    for future in [each for each in running if each in done]:
                        items, rows = running.pop(future), future.result()
                        left.extend([item] for item in items[len(rows) :])
                        for (index, case), row in zip(items, rows, strict=False):
                            yield index, row
                            if isinstance(case, PointBlock) and row_count(row) < len(case):
                                left.append([(index, case.take(slice(row_count(row), None)))])
            finally:
                stopping.cancel()
                for future in running:
                    future.cancel()
                processes.stop()
                while wait(running, timeout=_STOP_SECONDS).not_done:
                    for program in self._programs(running.values()):
                        program.stop()

    def _programs(self, chunks: Iterable[list[Item[Any]]]) -> Iterable[Any]:
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


def _is_block(items: list[Item[Any]]) -> bool:
    return len(items) == 1 and isinstance(items[0][1], PointBlock)
