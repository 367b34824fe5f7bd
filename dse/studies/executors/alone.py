"""Cases in a process of their own, which one of them may end: that case is found, retried and recorded."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from multiprocessing.connection import Connection

from dse.base import orphans
from dse.base.programs import how_it_ended
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.limits import Done, deadline, limit_s
from dse.studies.store.row import Row

_POLL_SECONDS = 0.1  # between looks at a pipe, so that a cancelled task ends soon
_END_SECONDS = 1.0  # for a process to end the programs that it runs


def evaluate_alone(
    evaluator: Evaluator[Case, Row],
    cases: Sequence[Case],
    point_timeout_s: float | None,
    chunk_limit_s: float,
) -> Done[Row]:
    """Evaluate cases up to and including the first one that ends its process, or until the time is over.

    That case runs again in a fresh process; when it ends that one too, its row is `failed` or `timeout`.

    Raises:
        InputError: see `Evaluator.evaluate`.
    """
    began = time.perf_counter()
    rows: list[Row] = []
    rows_alone = _rows(evaluator, cases, point_timeout_s)
    with contextlib.closing(rows_alone) as done, contextlib.suppress(_ProcessEnded):
        for row in done:
            rows.append(row)
            if time.perf_counter() - began > chunk_limit_s:
                break
        return Done(rows, time.perf_counter() - began)
    case = cases[len(rows)]
    try:
        rows.extend(_rows(evaluator, [case], point_timeout_s))
    except _ProcessEnded as ended:
        rows.append(_lost_row(evaluator, case, ended.status, point_timeout_s))
    return Done(rows, time.perf_counter() - began)


class _ProcessEnded(Exception):  # noqa: N818 (what happened, and what is expected here)
    """The process ended before its cases; `status` is as `subprocess` gives it."""

    def __init__(self, status: int) -> None:
        """`status` is negative after a signal."""
        super().__init__(status)
        self.status = status


def _lost_row(evaluator: Evaluator[Case, Row], case: Case, status: int, point_timeout_s: float | None) -> Row:
    limit = limit_s(evaluator, case, point_timeout_s)
    if status == -signal.SIGALRM and limit is not None:
        reason = f"took longer than {limit:g} s, twice (executor.point_timeout_s)"
        return evaluator.failed(case, "timeout", reason)
    return evaluator.failed(case, "failed", f"its process ended with {how_it_ended(status)}, twice")


def _rows(
    evaluator: Evaluator[Case, Row], cases: Sequence[Case], point_timeout_s: float | None
) -> Generator[Row, None, None]:
    """Yield rows of a fresh process; raise what a case raised, or `_ProcessEnded`."""
    from ray import cloudpickle  # classes that only a test or a notebook defines go along

    receiver, sender = os.pipe()
    with Connection(receiver, writable=False) as answers, tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "dse.studies.executors.alone", str(sender)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            pass_fds=[sender],
        )
        os.close(sender)
        assert process.stdin is not None
        orphans.begun(process.pid)
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as task:
                given = evaluator, list(cases), point_timeout_s
                task.write(cloudpickle.dumps(given))  # type: ignore[no-untyped-call]
            is_ready = False
            while True:
                while not answers.poll(_POLL_SECONDS):
                    pass
                try:
                    answer = answers.recv()
                except (EOFError, OSError):  # nothing, or a part of a row
                    break
                if isinstance(answer, BaseException):
                    raise answer
                if isinstance(answer, evaluator.record.row):
                    yield answer
                elif answer == "done":
                    return
                is_ready = True
            if not is_ready:
                log.seek(0)
                raise RuntimeError(f"cannot start a process for cases: {log.read().decode()[-2000:]}")
            raise _ProcessEnded(process.wait())
        finally:
            _end(process)
            orphans.ended(process.pid)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(descriptor: int) -> None:
    """Evaluate the cases on standard input; send rows, or the exception of a case, and end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the programs that run for a case
    data = sys.stdin.buffer.read()
    with Connection(descriptor, readable=False) as answers:
        evaluator, cases, point_timeout_s = pickle.loads(data)
        answers.send("ready")
        for case in cases:
            try:
                with deadline(limit_s(evaluator, case, point_timeout_s)):
                    row = evaluator.evaluate(case)
            except Exception as error:
                try:
                    answers.send(error)
                except (TypeError, AttributeError, pickle.PicklingError):
                    answers.send(RuntimeError(f"{type(error).__name__}: {error}"))
                return
            answers.send(row)
        answers.send("done")


if __name__ == "__main__":
    main(int(sys.argv[1]))
