"""A process of its own for predictions, which are Python: threads of one process would take turns."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from itertools import takewhile

from dse.base import orphans
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.store import StudyRow

_ALONE_SECONDS = 1.0  # of predictions in this process before others are started, which takes as long
_END_SECONDS = 1.0
_START = "import sys; sys.path[:] = {path!r}; from dse.studies.executors.predicting import main; main()"


class Predictors:
    """Evaluates predicted points for threads, first in this process, then in one process for each thread."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._own = threading.local()
        self._started: list[_Predictor] = []
        self._seconds = 0.0

    def rows(self, points: Sequence[DesignPoint]) -> list[StudyRow]:
        """Return the rows of points that are predicted; fewer of them after `stop`.

        Raises:
            InputError: see `dse.studies.points.evaluate`.
        """
        if self._seconds < _ALONE_SECONDS:
            began = time.thread_time()
            rows = [evaluate(point) for point in points]
            self._seconds += time.thread_time() - began
            return rows
        process = getattr(self._own, "process", None)
        if process is None:
            process = self._own.process = _Predictor()
            self._started.append(process)
        try:
            return process.rows(points)
        except (EOFError, OSError, pickle.UnpicklingError, ValueError):  # stopped, or ended by somebody
            if process.is_stopped:
                return []
            if process.is_running:
                raise
            return [evaluate(point) for point in points]

    def stop(self) -> None:
        """End the processes."""
        for process in self._started:
            process.stop()


class _Predictor:
    def __init__(self) -> None:
        self.is_stopped = False
        self._scenario: Scenario | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        orphans.begun(self._process.pid)

    def rows(self, points: Sequence[DesignPoint]) -> list[StudyRow]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        rows: list[StudyRow] = []
        start = 0
        while start < len(points):
            scenario = points[start].scenario
            same = _strategies_of(scenario, points[start:])
            pickle.dump((None if scenario is self._scenario else scenario, same), stdin, -1)
            stdin.flush()
            self._scenario = scenario
            answer = pickle.load(stdout)  # of our own process
            if isinstance(answer, BaseException):
                raise answer
            rows += answer
            start += len(same)
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


def _strategies_of(scenario: Scenario, points: Sequence[DesignPoint]) -> list[Strategy]:
    """The strategies of the first points, as far as they are of one scenario."""
    return [point.strategy for point in takewhile(lambda point: point.scenario is scenario, points)]


def main() -> None:
    """Answer (scenario or None for the last one, strategies) with rows, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    scenario: Scenario | None = None
    while True:
        try:
            given, strategies = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        scenario = scenario if given is None else given
        assert scenario is not None
        pickle.dump(_answer(scenario, strategies), answers, -1)
        answers.flush()


def _answer(scenario: Scenario, strategies: Sequence[Strategy]) -> list[StudyRow] | Exception:
    try:
        return [evaluate(DesignPoint(scenario, strategy)) for strategy in strategies]
    except Exception as error:  # the parent raises it
        return error
