"""The work of a Ray worker: it evaluates a chunk of points, each within a limit that the kernel enforces."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.executors.alone import evaluate_alone
from dse.studies.executors.limits import Done, deadline, limit_s
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.points.inputs import engine_version
from dse.studies.store import StudyRow

_PACKS = 16  # lists of scenarios that a worker keeps, with their texts and digests
_kept: dict[str, list[Scenario]] = {}


@dataclass(frozen=True)
class Work:
    """Points of a task: scenarios by (number of the pack, place in it), each with its strategies."""

    parts: Sequence[tuple[int, int, Sequence[Strategy]]]
    version: str
    point_timeout_s: float | None
    chunk_limit_s: float
    alone: bool = False


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
        return evaluate_alone(points, work.point_timeout_s, work.chunk_limit_s)
    rows: list[StudyRow] = []
    for point in points:
        with deadline(limit_s(point.scenario, work.point_timeout_s)):
            rows.append(evaluate(point))
        if time.perf_counter() - began > work.chunk_limit_s:
            break
    return Done(rows, time.perf_counter() - began)


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
