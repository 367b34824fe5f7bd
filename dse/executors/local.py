"""Threads of this process: the engine releases the GIL, so they use all cores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from dse.executors.base import Executor
from dse.executors.evaluate import DesignPoint, evaluate
from dse.results import StudyRow

_IN_FLIGHT_PER_THREAD = 4  # enough to keep a thread busy, few enough that points are drawn lazily
_STOP_SECONDS = 0.1  # between attempts to end programs: a point may be about to start one


class LocalExecutor(Executor):
    """`threads` None means one for each core that this process may use."""

    def __init__(self, threads: int | None = None) -> None:
        """Start nothing yet."""
        self._threads = threads or usable_cores()

    def run(self, points: Iterable[DesignPoint]) -> Iterator[tuple[int, StudyRow]]:
        """See `Executor.run`. An error or Ctrl-C cancels points, and ends the programs that run for them."""
        source = enumerate(points)
        indices: dict[Future[StudyRow], tuple[int, DesignPoint]] = {}
        with ThreadPoolExecutor(self._threads, thread_name_prefix="dse-point") as pool:
            try:
                while True:
                    while len(indices) < self._threads * _IN_FLIGHT_PER_THREAD:
                        index, point = next(source, (-1, None))
                        if point is None:
                            break
                        indices[pool.submit(evaluate, point)] = index, point
                    if not indices:
                        return
                    for future in wait(indices, return_when=FIRST_COMPLETED).done:
                        yield indices.pop(future)[0], future.result()
            finally:
                for future in indices:
                    future.cancel()
                while wait(indices, timeout=_STOP_SECONDS).not_done:
                    for _, point in indices.values():
                        point.stop()


def usable_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
