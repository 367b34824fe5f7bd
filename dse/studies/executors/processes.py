"""Processes that evaluate cases: one for each thread where cases take long, or one that a case may end."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from multiprocessing.connection import Connection
from typing import Any, Generic

from dse.base import orphans
from dse.base.errors import InputError
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.chunks import deadline, limit_s
from dse.studies.store.row import Row

_POLL_SECONDS = 0.1  # between looks at a pipe, so that a cancelled task ends soon
_END_SECONDS = 1.0  # for a process to end the programs that it runs
_START = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
sys.path[:] = {path!r}
from dse.studies.executors.processes import main
main({answers})
"""


class ProcessEnded(Exception):  # noqa: N818 (what happened, and what is expected here)
    """A process ended before its cases."""

    def __init__(self, status: int, *, had_started: bool) -> None:
        """`status` is negative after a signal."""
        super().__init__(status)
        self.status = status
        self.had_started = had_started


class CaseProcess(Generic[Case, Row]):
    """A process that evaluates one list of cases after the other."""

    def __init__(self, evaluator: Evaluator[Case, Row], dumps: Callable[[Any], bytes] = pickle.dumps) -> None:
        """Start it; `dumps` pickles what it is given."""
        self._evaluator = evaluator
        self._dumps = dumps
        self._shared: Any = None
        self._has_started = False
        self.is_stopped = False
        receiver, sender = os.pipe()
        self._answers = Connection(receiver, writable=False)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path, answers=sender)],
            env={**os.environ, **orphans.mark_of_programs()},
            stdin=subprocess.PIPE,
            stdout=2,  # what anything prints is no answer
            pass_fds=[sender],
        )
        os.close(sender)
        orphans.begun(self._process.pid)

    def rows(
        self, cases: Sequence[Case], timeout_s: float | None = None, *, each: bool = False
    ) -> Iterator[list[Row]]:
        """Yield the rows of cases that share an object together, or of each case alone.

        Raises:
            ProcessEnded: in the next case.
            InputError: see `Evaluator.evaluate`.
        """
        stdin = self._process.stdin
        assert stdin is not None
        for _, group in groupby(map(self._evaluator.split, cases), key=lambda split: id(split[0])):
            several, rests = zip(*group, strict=True)
            shared = None if several[0] is self._shared else several[0]
            self._shared = several[0]
            tasks = [[rest] for rest in rests] if each else [rests]
            with contextlib.suppress(OSError, ValueError):  # it has ended, as the answer will tell
                stdin.write(self._dumps((self._evaluator, shared, tasks, timeout_s)))
                stdin.flush()
            for _ in tasks:
                yield self._answer()

    def _answer(self) -> list[Row]:
        try:
            if not self._has_started:
                self._received()
                self._has_started = True
            answer = self._received()
        except (EOFError, OSError, pickle.UnpicklingError):  # nothing, or a part of a row
            raise ProcessEnded(self._process.wait(), had_started=self._has_started) from None
        if isinstance(answer, BaseException):
            raise answer
        rows: list[Row] = answer
        return rows

    def _received(self) -> Any:
        while not self._answers.poll(_POLL_SECONDS):
            pass
        return self._answers.recv()

    def kill(self) -> None:
        """End it at once."""
        self.is_stopped = True
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        orphans.ended(self._process.pid)
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()

    def close(self) -> None:
        """End it, after the programs that it runs."""
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self.kill()


class Processes(Generic[Case, Row]):
    """Evaluates cases for threads, in one process for each."""

    def __init__(self, evaluator: Evaluator[Case, Row]) -> None:
        """Start nothing yet."""
        self._evaluator = evaluator
        self._own = threading.local()
        self._started: list[CaseProcess[Case, Row]] = []

    def rows(self, cases: Sequence[Case]) -> list[Row]:
        """Return the rows of cases; fewer of them after `stop`.

        Raises:
            InputError: see `Evaluator.evaluate`; or somebody ended a process.
        """
        process = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = CaseProcess(self._evaluator)
            self._started.append(process)
        try:
            return [row for rows in process.rows(cases) for row in rows]
        except ProcessEnded:
            if process.is_stopped:
                return []
            raise InputError(
                "a process was killed, perhaps for want of memory; rows so far are stored, "
                "and executor.threads=1 runs one case at a time"
            ) from None

    def stop(self) -> None:
        """End the processes."""
        for process in self._started:
            process.kill()


def main(descriptor: int) -> None:
    """Answer (evaluator, a shared object or None for the last one, lists of rests, limit) with rows."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the programs that run for a case
    last: Any = None
    with Connection(descriptor, readable=False) as answers:
        answers.send("started")
        while True:
            try:
                evaluator, shared, tasks, timeout_s = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            last = last if shared is None else shared
            for rests in tasks:
                try:
                    answers.send(_rows(evaluator, [evaluator.join(last, rest) for rest in rests], timeout_s))
                except Exception as error:
                    _send(answers, error)  # the parent raises it
                    break


def _rows(evaluator: Evaluator[Case, Row], cases: Sequence[Case], timeout_s: float | None) -> list[Row]:
    rows = []
    for case in cases:
        with deadline(limit_s(evaluator, case, timeout_s)):
            rows.append(evaluator.evaluate(case))
    return rows


def _send(answers: Connection, error: Exception) -> None:
    try:
        answers.send(error)
    except (TypeError, AttributeError, pickle.PicklingError):
        answers.send(RuntimeError(f"{type(error).__name__}: {error}"))
