"""What a Ray worker does: it evaluates a chunk of points, each within a limit that the kernel enforces."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.points.inputs import engine_version
from dse.studies.store import StudyRow

_PACKS = 16  # lists of scenarios that a worker keeps, with their texts and digests
_LONGEST_SECONDS = 1e9  # what the kernel can count
_kept: dict[str, list[Scenario]] = {}


@dataclass(frozen=True)
class Work:
    """Points of a task: scenarios by (number of the pack, place in it), each with its strategies."""

    parts: Sequence[tuple[int, int, Sequence[Strategy]]]
    version: str
    point_timeout_s: float | None
    chunk_limit_s: float
    alone: bool = False


@dataclass(frozen=True)
class Done:
    """Rows of the first points of a task, and the seconds that they took."""

    rows: list[StudyRow]
    seconds: float


def evaluate_chunk(packs: Sequence[Any], work: Work) -> Done:
    """Evaluate points, in their order, until the time of a chunk is over; `packs` are references of Ray.

    With `work.alone`, in a process of their own, up to the first point that ends it.

    Raises:
        InputError: this machine has another version of dse, or see `evaluate`.
    """
    began = time.perf_counter()
    if engine_version() != work.version:
        raise InputError(
            f"a worker of executor.address has dse {engine_version()}, but this process has {work.version}; "
            "install the same version on every node"
        )
    scenarios = [_fetched(pack) for pack in packs]
    points = [
        DesignPoint(scenarios[pack][place], strategy)
        for pack, place, strategies in work.parts
        for strategy in strategies
    ]
    if work.alone:
        from dse.studies.executors.alone import evaluate_alone

        return evaluate_alone(points, work.point_timeout_s, work.chunk_limit_s)
    rows: list[StudyRow] = []
    for point in points:
        with deadline(limit_s(point.scenario, work.point_timeout_s)):
            rows.append(evaluate(point))
        if time.perf_counter() - began > work.chunk_limit_s:
            break
    return Done(rows, time.perf_counter() - began)


def limit_s(scenario: Scenario, point_timeout_s: float | None) -> float | None:
    """Return the seconds that a point may take: programs of the user's own have limits of their own."""
    if point_timeout_s is None:
        return None
    programs = (scenario.generator, scenario.simulator)
    return point_timeout_s + sum(getattr(program, "timeout_s", 0.0) for program in programs)


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """End this process with SIGALRM when the block takes longer, even inside native code; None is no limit.

    The kernel does it: no handler has to run, which a stuck engine would not let happen.
    """
    if seconds is not None and seconds < _LONGEST_SECONDS:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _fetched(pack: Any) -> list[Scenario]:
    """Fetch scenarios once, so that their texts and digests are computed once for many chunks."""
    import ray

    name = pack.hex()
    scenarios = _kept.pop(name, None)
    if scenarios is None:
        scenarios = ray.get(pack)
    _kept[name] = scenarios  # the last one that was used is the last one
    if len(_kept) > _PACKS:
        del _kept[next(iter(_kept))]
    return scenarios
