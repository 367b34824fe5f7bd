"""Ray tasks of many cases each, on this machine or a cluster; what a lost worker had is done again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Generic

from dse.base.errors import InputError
from dse.base.machine import usable_cores
from dse.base.signals import raise_if_signalled
from dse.studies.evaluator import Case, Evaluator
from dse.studies.executors.base import Executor
from dse.studies.executors.chunks import Chunk, ChunkSizer, Item, drawn
from dse.studies.executors.interrupts import noticed_interrupts
from dse.studies.executors.ray_session import ray_session
from dse.studies.executors.ray_watch import RayWatch
from dse.studies.executors.settings import ExecutorSettings
from dse.studies.executors.worker import Packs, Work, evaluate_chunk
from dse.studies.points.evaluator import PointEvaluator
from dse.studies.points.inputs import engine_version
from dse.studies.store.row import Row

_CHUNK_SECONDS = 1.0
_CHUNK_LIMIT_SECONDS = 2.0  # then a worker gives the rest of a chunk back
_CHUNK_POINTS = 20_000
_IN_FLIGHT_PER_CPU = 2  # one runs, and one is there when it ends
_WAIT_SECONDS = 1.0  # for a chunk, before nodes are counted again
_COUNT_SECONDS = 3.0  # between counts of the CPUs of a cluster
_NO_CPU_SECONDS = 60.0  # for a cluster to get its first worker
_CANCEL_SECONDS = 2.0  # for tasks to end by themselves, and end their programs
_SETTLE_SECONDS = 3.0  # what is in flight takes some 0.5 s, unless a program or a large point runs

_ALONE_AFTER = 2  # losses: as it was drawn, and as a half of that
_GIVE_UP_AFTER = 5  # losses of one point
_NODE_LOSSES = 5  # of a chunk, before its points are suspected


def make(settings: ExecutorSettings, evaluator: Evaluator[Any, Any] | None = None) -> Executor:
    """Return the executor that `executor=ray` names, of points if no other evaluator is given."""
    return RayExecutor(settings.address, settings.workers, settings.point_timeout_s, evaluator)


class RayExecutor(Executor):
    """Workers of Ray: `address` None starts them on this machine, else it is HOST:PORT of a cluster, or auto.

    `workers` is the number of processes, at most; None means one for each CPU. A point that takes longer than
    `point_timeout_s` is a row of status `timeout`; None means no limit.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        point_timeout_s: float | None = None,
        evaluator: Evaluator[Any, Any] | None = None,
    ) -> None:
        self._address = address
        self._workers = workers
        self._point_timeout_s = point_timeout_s
        self._evaluator = evaluator or PointEvaluator()

    def run(self, points: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """See `Executor.run`. An error, Ctrl-C or closing cancels what is in flight.

        Raises:
            InputError: also where ray is missing, does not start or ends, the cluster does not answer or has
                another version of dse.
        """
        with ray_session(self._address, self._workers or usable_cores()) as (ray, is_ours):
            run = _Run(ray, self._evaluator, enumerate(points), self._workers, self._point_timeout_s)
            try:
                with noticed_interrupts() as interrupts:
                    yield from run.rows(interrupts)
            finally:
                run.cancel(ends_soon=is_ours)


class _Run(Generic[Case, Row]):
    """The chunks of one run: those to do before others are drawn, and those in flight."""

    def __init__(
        self,
        ray: Any,
        evaluator: Evaluator[Case, Row],
        source: Iterator[Item[Case]],
        workers: int | None,
        point_timeout_s: float | None,
    ) -> None:
        self._ray = ray
        self._evaluator = evaluator
        self._watch = RayWatch(ray)
        self._source = source
        self._workers = workers
        self._point_timeout_s = point_timeout_s
        self._task = ray.remote(num_cpus=1, max_retries=0)(evaluate_chunk)
        self._packs = Packs(ray.put, evaluator)
        self._sizer = ChunkSizer(_CHUNK_SECONDS, 1 if evaluator.takes_long else _CHUNK_POINTS)
        self._again: deque[Chunk[Case]] = deque()
        self._in_flight: dict[Any, Chunk[Case]] = {}
        self._counted = -_COUNT_SECONDS
        self._seen_cpus = time.monotonic()
        self._limit = 1

    def rows(self, interrupts: list[int]) -> Iterator[tuple[int, Row]]:
        while self._fill():
            if interrupts:
                raise KeyboardInterrupt
            raise_if_signalled()
            ready, _ = self._ray.wait(list(self._in_flight), num_returns=1, timeout=_WAIT_SECONDS)
            for reference in ready:
                yield from self._finished(self._in_flight.pop(reference), reference)

    def cancel(self, *, ends_soon: bool) -> None:
        """End what is in flight: first so that it ends its programs, then by force.

        The end of a session ends its workers. Where it `ends_soon`, only programs need to be told before, and
        nothing is forced: Ray may end this process if a task that is cancelled by force finishes meanwhile,
        and if one starts while it is cancelled (a check of its task manager). So what is short may finish
        first, and of the rest those that wait for a worker are cancelled before those that have one.
        """
        references = [
            reference
            for reference, chunk in self._in_flight.items()
            if not ends_soon or any(self._evaluator.uses_programs(case) for _, case in chunk.items)
        ]
        if references:
            _, references = self._ray.wait(references, num_returns=len(references), timeout=_SETTLE_SECONDS)
        if not references:
            return
        references.reverse()  # the last ones have no worker yet
        for is_forced in (False,) if ends_soon else (False, True):
            for reference in references:
                self._ray.cancel(reference, force=is_forced)
            _, references = self._ray.wait(references, num_returns=len(references), timeout=_CANCEL_SECONDS)
            if not references:
                return

    def _fill(self) -> bool:
        """Submit chunks up to the limit; return whether any is in flight."""
        self._watch.check()
        if self._watch.is_answered:
            self._count_cpus()
        while len(self._in_flight) < self._limit:
            chunk = self._again.popleft() if self._again else Chunk(drawn(self._source, self._sizer.size))
            if not chunk.items:
                break
            self._submit(chunk)
        return bool(self._in_flight)

    def _submit(self, chunk: Chunk[Case]) -> None:
        packs, parts = self._packs.of(chunk.items)
        work = Work(
            self._evaluator,
            parts,
            version=engine_version(),
            point_timeout_s=self._point_timeout_s,
            chunk_limit_s=_CHUNK_LIMIT_SECONDS,
            alone=chunk.losses >= _ALONE_AFTER,
        )
        self._in_flight[self._task.remote(packs, work)] = chunk

    def _finished(self, chunk: Chunk[Case], reference: Any) -> Iterator[tuple[int, Row]]:
        try:
            done = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except self._ray.exceptions.LocalRayletDiedError:
            raise InputError("Ray ended on this machine; run the command again to go on") from None
        except self._ray.exceptions.RayError as error:
            yield from self._lost(chunk, error)
            return
        self._sizer.measured(len(done.rows), done.seconds)
        if len(done.rows) < len(chunk.items):
            self._again.appendleft(self._rest(chunk, len(done.rows)))
        for (index, _), row in zip(chunk.items, done.rows, strict=False):
            yield index, row

    def _rest(self, chunk: Chunk[Case], done: int) -> Chunk[Case]:
        """Return the next points that were not evaluated; those beyond a chunk's size wait for another."""
        rest = chunk.without(done)
        size = self._sizer.size
        if len(rest.items) > size:
            self._again.appendleft(rest.without(size))
            return Chunk(rest.items[:size], rest.losses, rest.node_losses)
        return rest

    def _lost(self, chunk: Chunk[Case], error: Exception) -> Iterator[tuple[int, Row]]:
        """Put a chunk back: as it is when its node is gone, else in halves, at last each point alone."""
        exceptions = self._ray.exceptions
        gone = (exceptions.NodeDiedError, exceptions.ObjectLostError, exceptions.RaySystemError)
        if isinstance(error, gone) and chunk.node_losses < _NODE_LOSSES:
            self._again.appendleft(Chunk(chunk.items, chunk.losses, chunk.node_losses + 1))
        elif len(chunk.items) > 1:
            self._again.extendleft(reversed(chunk.halves()))
        elif chunk.losses < _GIVE_UP_AFTER:
            self._again.appendleft(Chunk(chunk.items, chunk.losses + 1, chunk.node_losses))
        else:
            ((index, case),) = chunk.items
            reason = f"its worker was lost {chunk.losses + 1} times: " + str(error).strip().split("\n")[0]
            yield index, self._evaluator.failed(case, "failed", reason)

    def _count_cpus(self) -> None:
        """Follow nodes that come and go."""
        now = time.monotonic()
        if now - self._counted < _COUNT_SECONDS:
            return
        self._counted = now
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if cpus:
            self._seen_cpus = now
        elif now - self._seen_cpus > _NO_CPU_SECONDS:
            raise InputError(
                f"the cluster of executor.address has had no CPU for {_NO_CPU_SECONDS:g} s; "
                "add nodes (ray start --address=HOST:PORT) and run the command again"
            )
        self._limit = max(1, cpus * _IN_FLIGHT_PER_CPU)
        if self._workers is not None:
            # A cluster has CPUs that are not ours to use: then nothing waits for a worker that ends.
            self._limit = min(
                self._limit, self._workers * (1 if self._workers < cpus else _IN_FLIGHT_PER_CPU)
            )


def _cause(error: Any) -> BaseException:
    """Return what a point raised on a worker."""
    cause: BaseException = getattr(error, "cause", None) or error
    if "failed to import" in str(cause) or (isinstance(cause, ImportError) and "dse" in str(cause)):
        return InputError(
            f"a worker of executor.address cannot import dse; install dse {engine_version()} on every node"
        )
    return cause
