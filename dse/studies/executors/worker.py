"""The work of a Ray worker: it evaluates a chunk of cases, each within a limit that the kernel enforces.

Objects that many cases share, in Ray's object store: put there once, many together, and named by tasks.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic

from dse.base.errors import InputError
from dse.base.programs import how_it_ended
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.chunks import Done, Item, deadline, limit_s
from dse.studies.executors.processes import CaseProcess, ProcessEnded
from dse.studies.points.inputs import engine_version
from dse.studies.store.row import Row

_PACKS = 16  # lists of shared objects that a worker keeps, with their texts and digests
_kept: dict[str, list[Any]] = {}


@dataclass(frozen=True)
class Work:
    """Cases of a task: shared objects by (number of the pack, place in it), each with its rests of cases."""

    evaluator: Evaluator[Any, Any]
    parts: Sequence[Part]
    version: str
    point_timeout_s: float | None
    chunk_limit_s: float
    alone: bool = False


def evaluate_chunk(packs: Sequence[Any], work: Work) -> Done[Any]:
    """Evaluate cases, in their order, until the time of a chunk is over; `packs` are references of Ray.

    With `work.alone`, in a process of their own, up to the first case that ends it.

    Raises:
        InputError: this machine has another version of dse, or see `Evaluator.evaluate`.
    """
    began = time.perf_counter()
    if engine_version() != work.version:
        raise InputError(
            f"a worker of executor.address has dse {engine_version()}, but this process has {work.version}; "
            "install the same version on every node"
        )
    evaluator, shared = work.evaluator, [_fetched(pack) for pack in packs]
    cases = [evaluator.join(shared[pack][place], rest) for pack, place, rests in work.parts for rest in rests]
    if work.alone:
        return evaluate_alone(evaluator, cases, work.point_timeout_s, work.chunk_limit_s)
    rows: list[Any] = []
    for case in cases:
        with deadline(limit_s(evaluator, case, work.point_timeout_s)):
            rows.append(evaluator.evaluate(case))
        if time.perf_counter() - began > work.chunk_limit_s:
            break
    return Done(rows, time.perf_counter() - began)


def _fetched(pack: Any) -> list[Any]:
    """Fetch shared objects once, so that their texts and digests are computed once for many chunks."""
    import ray

    name = pack.hex()
    shared = _kept.pop(name, None)
    if shared is None:
        shared = ray.get(pack)
    _kept[name] = shared  # the last one that was used is the last one
    if len(_kept) > _PACKS:
        del _kept[next(iter(_kept))]
    return shared


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


_KEPT = 10_000  # objects that later chunks may need: points come with those of a scenario together

Part = tuple[int, int, Sequence[Any]]


class Packs(Generic[Case, Row]):
    """Lists of shared objects that have been put into the store; the last objects keep their place."""

    def __init__(self, put: Callable[[list[Any]], Any], evaluator: Evaluator[Case, Row]) -> None:
        """`put` stores a list and returns its reference."""
        self._put = put
        self._split = evaluator.split
        self._places: OrderedDict[int, tuple[Any, Any, int]] = OrderedDict()

    def of(self, items: Sequence[Item[Case]]) -> tuple[list[Any], list[Part]]:
        """Return the packs of these cases, and cases by (number of the pack, place in it, their rests)."""
        runs = [
            (same[0][0], [rest for _, rest in same])
            for _, group in groupby((self._split(case) for _, case in items), key=lambda split: id(split[0]))
            for same in [list(group)]
        ]
        self._add({id(shared): shared for shared, _ in runs})
        packs: dict[Any, int] = {}
        parts: list[Part] = []
        for shared, rests in runs:
            _, pack, place = self._places[id(shared)]
            parts.append((packs.setdefault(pack, len(packs)), place, rests))
        while len(self._places) > _KEPT:
            self._places.popitem(last=False)
        return list(packs), parts

    def _add(self, objects: dict[int, Any]) -> None:
        for name in objects:
            if name in self._places:
                self._places.move_to_end(name)
        new = [shared for name, shared in objects.items() if name not in self._places]
        if new:
            pack = self._put(new)
            for place, shared in enumerate(new):
                self._places[id(shared)] = shared, pack, place  # held, so that its id stays its own
