"""A process for each thread, for cases that keep Python busy: threads of one process would take turns."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Generic

from dse.base import orphans
from dse.base.errors import InputError
from dse.studies.evaluator import Case, Evaluator
from dse.studies.store.row import Row

_ALONE_SECONDS = 1.0  # of short cases in this process before others are started, which takes as long
_END_SECONDS = 1.0
_START = """\
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
sys.path[:] = {path!r}
from dse.studies.executors.processes import main
main()
"""


class Processes(Generic[Case, Row]):
    """Evaluates cases for threads: short ones first in this process, then in one process for each thread."""

    def __init__(self, evaluator: Evaluator[Case, Row]) -> None:
        """Start nothing yet."""
        self._evaluator = evaluator
        self._own = threading.local()
        self._started: list[_Process[Case, Row]] = []
        self._seconds = 0.0

    def rows(self, cases: Sequence[Case]) -> list[Row]:
        """Return the rows of cases; fewer of them after `stop`.

        Raises:
            InputError: see `Evaluator.evaluate`; or somebody ended a process with a case that takes long.
        """
        takes_long = self._evaluator.takes_long
        if not takes_long and self._seconds < _ALONE_SECONDS:
            began = time.thread_time()
            rows = [self._evaluator.evaluate(case) for case in cases]
            self._seconds += time.thread_time() - began
            return rows
        process = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _Process(self._evaluator)
            self._started.append(process)
        try:
            return process.rows(cases)
        except (EOFError, OSError, pickle.UnpicklingError, ValueError):  # stopped, or ended by somebody
            if process.is_stopped:
                return []
            if process.is_running:
                raise
            if takes_long:
                raise InputError(
                    "a process was killed, perhaps for want of memory; rows so far are stored, "
                    "and executor.threads=1 runs one case at a time"
                ) from None
            return [self._evaluator.evaluate(case) for case in cases]

    def stop(self) -> None:
        """End the processes."""
        for process in self._started:
            process.stop()


class _Process(Generic[Case, Row]):
    def __init__(self, evaluator: Evaluator[Case, Row]) -> None:
        self.is_stopped = False
        self._evaluator = evaluator
        self._shared: Any = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **orphans.mark_of_programs()},
        )
        orphans.begun(self._process.pid)

    def rows(self, cases: Sequence[Case]) -> list[Row]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        rows: list[Row] = []
        for _, group in groupby(map(self._evaluator.split, cases), key=lambda split: id(split[0])):
            several, rests = zip(*group, strict=True)
            shared = several[0]
            pickle.dump((self._evaluator, None if shared is self._shared else shared, rests), stdin, -1)
            stdin.flush()
            self._shared = shared
            answer = pickle.load(stdout)  # of our own process
            if isinstance(answer, BaseException):
                raise answer
            rows += answer
        return rows

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended; a moment is given to one that is about to."""
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return True
        return False

    def stop(self) -> None:
        self.is_stopped = True
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        orphans.ended(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()


def main() -> None:
    """Answer (evaluator, a shared object or None for the last one, rests) with rows, until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    last: Any = None
    while True:
        try:
            evaluator, given, rests = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        last = last if given is None else given
        pickle.dump(_answer(evaluator, last, rests), answers, -1)
        answers.flush()


def _answer(evaluator: Evaluator[Any, Any], shared: Any, rests: Sequence[Any]) -> list[Any] | Exception:
    try:
        return [evaluator.evaluate(evaluator.join(shared, rest)) for rest in rests]
    except Exception as error:  # the parent raises it
        return error
