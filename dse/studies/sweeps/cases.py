"""Cases that a study lacks, evaluated here or by Ray; rows of any type are stored as they come.

Cases are few and take long: each is a task of its own, unlike the points of a sweep.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.orphans import none_left_behind
from dse.base.signals import raise_if_signalled
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors import ExecutorSettings
from dse.studies.executors.interrupts import noticed_interrupts
from dse.studies.executors.ray_session import ray_session
from dse.studies.store import StudyStore
from dse.studies.store.row import Row
from dse.studies.sweeps.writer import StudyWriter

_IN_FLIGHT_PER_WORKER = 2  # one runs, and one is there when it ends
_LOOK_S = 0.2  # between looks whether Ctrl-C was pressed


def missing_cases(cases: Iterable[Case], store: StudyStore[Row]) -> list[Case]:
    """Return the cases that the study lacks or whose rows may change, each once.

    Raises:
        InputError: the study is corrupt or written by a newer version.
    """
    known = store.keys(without=store.record.transient) if store.exists() else set()
    return list({case.key: case for case in cases if case.key not in known}.values())


def run_cases(
    cases: Sequence[Case],
    evaluator: Evaluator[Case, Row],
    store: StudyStore[Row],
    executor: ExecutorSettings,
    on_row: Callable[[Row], None] = lambda _: None,
) -> int:
    """Evaluate cases and store their rows; return how many. What is stored when it is interrupted stays.

    Raises:
        InputError: the study cannot be written, or Ray does not start.
    """
    evaluate = functools.partial(_row_of, evaluator)
    made = _by_ray if executor.name == "ray" else _here
    with StudyWriter(store) as writer:
        for row in made(cases, evaluate, executor):
            on_row(row)
            writer.add(row)
            raise_if_signalled()
        return len(cases)


def _row_of(evaluator: Evaluator[Case, Row], case: Case) -> Row:
    return evaluator.evaluate(case)


def _here(
    cases: Sequence[Case], evaluate: Callable[[Case], Row], executor: ExecutorSettings
) -> Iterator[Row]:
    """Rows in the order in which they finish, from processes of this machine; of one case from this one."""
    workers = min(executor.threads or usable_cores(), len(cases))
    if workers <= 1:
        yield from map(evaluate, cases)
        return
    import multiprocessing
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool

    left = deque(cases)
    # Where a signal ends this process, nothing is left to tidy up what libraries made; the system does.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
    with (
        noticed_interrupts() as interrupts,
        none_left_behind() as see_to,
        ProcessPoolExecutor(workers, context, _begin_worker, initargs=(os.getpid(),)) as pool,
    ):
        running: set[Any] = set()
        try:
            while left or running:
                if interrupts:
                    raise KeyboardInterrupt
                while left and len(running) < workers * _IN_FLIGHT_PER_WORKER:
                    running.add(pool.submit(evaluate, left.popleft()))
                    see_to(pool._processes)
                done, running = wait(running, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise InputError(
                "a process was killed, perhaps for want of memory; rows so far are stored, "
                "and executor.threads=1 runs one case at a time"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in list((pool._processes or {}).values()):  # a search may go on for minutes
                process.terminate()
            raise


def _begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent; end if that ended before it could see to it that this process does."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)


def _by_ray(
    cases: Sequence[Case], evaluate: Callable[[Case], Row], executor: ExecutorSettings
) -> Iterator[Row]:
    """Rows in the order in which they finish, from Ray's workers."""
    with ray_session(executor.address, executor.workers or usable_cores()) as (ray, _):
        remote = ray.remote(max_retries=2)(lambda case: evaluate(case))
        width = int(ray.cluster_resources().get("CPU", 1)) or 1
        if executor.workers:
            width = min(width, executor.workers)
        left, running = deque(cases), list[Any]()
        with noticed_interrupts() as interrupts:
            try:
                while left or running:
                    if interrupts:
                        raise KeyboardInterrupt
                    while left and len(running) < width * _IN_FLIGHT_PER_WORKER:
                        running.append(remote.remote(left.popleft()))
                    done, running = ray.wait(running, num_returns=1, timeout=_LOOK_S)
                    yield from ray.get(done)
            finally:
                for reference in running:
                    ray.cancel(reference, force=True)
