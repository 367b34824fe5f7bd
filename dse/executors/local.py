"""Threads of this process: the engine releases the GIL, so they use all cores."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from dse.executors.base import Executor
from dse.executors.chunks import ChunkSizer, Item, drawn
from dse.executors.interrupts import noticed_interrupts
from dse.points import DesignPoint, evaluate
from dse.results import StudyRow

_IN_FLIGHT_PER_THREAD = 3  # enough to keep a thread busy, few enough that points are drawn lazily
_CHUNK_SECONDS = 0.01  # of work for a future, which itself costs some tens of microseconds
_CHUNK_LIMIT_SECONDS = 0.05  # then the rest of a chunk goes back, so that no thread waits for another
_CHUNK_POINTS = 50  # at most, so that points are drawn lazily
_LOOK_SECONDS = 1.0  # between looks whether Ctrl-C was pressed
_STOP_SECONDS = 0.1  # between attempts to end programs: a point may be about to start one


class LocalExecutor(Executor):
    """`threads` None means one for each core that this process may use."""

    def __init__(self, threads: int | None = None) -> None:
        """Start nothing yet."""
        self._threads = threads or usable_cores()

    def run(self, points: Iterable[DesignPoint]) -> Iterator[tuple[int, StudyRow]]:
        """See `Executor.run`. An error or Ctrl-C cancels points, and ends the programs that run for them."""
        source = enumerate(points)
        sizer = ChunkSizer(_CHUNK_SECONDS, _CHUNK_POINTS)
        left: deque[list[Item]] = deque()  # rests of chunks that took too long
        running: dict[Future[list[StudyRow]], list[Item]] = {}
        stopping = threading.Event()

        def work(items: list[Item]) -> list[StudyRow]:
            rows: list[StudyRow] = []
            began = time.perf_counter()
            for _, point in items:
                if stopping.is_set():
                    break
                rows.append(evaluate(point))
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
                stopping.set()
                for future in running:
                    future.cancel()
                while wait(running, timeout=_STOP_SECONDS).not_done:
                    for items in running.values():
                        for scenario in {id(point.scenario): point.scenario for _, point in items}.values():
                            scenario.stop()


def usable_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
