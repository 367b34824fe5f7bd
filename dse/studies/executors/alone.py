"""Cases in a process of their own, which one of them may end: that case is found, retried and recorded."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Generator, Sequence

from dse.base.programs import how_it_ended
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.limits import Done, limit_s
from dse.studies.executors.processes import CaseProcess, ProcessEnded
from dse.studies.store.row import Row


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
    with contextlib.closing(rows_alone) as done, contextlib.suppress(ProcessEnded):
        for row in done:
            rows.append(row)
            if time.perf_counter() - began > chunk_limit_s:
                break
        return Done(rows, time.perf_counter() - began)
    case = cases[len(rows)]
    try:
        rows.extend(_rows(evaluator, [case], point_timeout_s))
    except ProcessEnded as ended:
        rows.append(_lost_row(evaluator, case, ended.status, point_timeout_s))
    return Done(rows, time.perf_counter() - began)


def _lost_row(evaluator: Evaluator[Case, Row], case: Case, status: int, point_timeout_s: float | None) -> Row:
    limit = limit_s(evaluator, case, point_timeout_s)
    if status == -signal.SIGALRM and limit is not None:
        reason = f"took longer than {limit:g} s, twice (executor.point_timeout_s)"
        return evaluator.failed(case, "timeout", reason)
    return evaluator.failed(case, "failed", f"its process ended with {how_it_ended(status)}, twice")


def _rows(
    evaluator: Evaluator[Case, Row], cases: Sequence[Case], point_timeout_s: float | None
) -> Generator[Row, None, None]:
    """Yield rows of a fresh process; raise what a case raised, or `ProcessEnded`."""
    from ray import cloudpickle  # classes that only a test or a notebook defines go along

    with contextlib.closing(CaseProcess(evaluator, cloudpickle.dumps)) as process:
        try:
            for rows in process.rows(cases, point_timeout_s, each=True):
                yield from rows
        except ProcessEnded as ended:
            if not ended.had_started:
                raise RuntimeError(
                    f"cannot start a process for cases: {how_it_ended(ended.status)}"
                ) from None
            raise
