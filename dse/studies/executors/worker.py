"""The work of a Ray worker: it evaluates a chunk of cases, each within a limit that the kernel enforces."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.base.errors import InputError
from dse.studies.evaluator import Evaluator
from dse.studies.executors.alone import evaluate_alone
from dse.studies.executors.limits import Done, deadline, limit_s
from dse.studies.executors.packs import Part
from dse.studies.points.inputs import engine_version

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
