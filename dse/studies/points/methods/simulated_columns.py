"""Simulated points as the columns of rows: what no system changes is made once for the points of many."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.base.lazy import pa, pc
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import GROUPED, AxisValue, Divisibility, InfeasibleStrategy, broken_units
from dse.simulation.simulators import NativeSimulator
from dse.simulation.simulators.understated import understated_by_degrees
from dse.simulation.workloads.cache import ByteCache
from dse.simulation.workloads.generators import KEPT_BYTES, GeneratedWorkload, fractional, made_workload
from dse.studies.points.methods.method import Answers, Block, Inputs, refused_unfilled
from dse.studies.points.utilization import follows_peak, model_operations

if TYPE_CHECKING:
    from dse.inputs.strategies.columns import Strategies

_MOST_S = 0.1
"""Of a block: then its rows are written, and others take what is left of it."""

_MEMORY = ("peak_memory_bytes", "rank0_peak_memory_bytes")


def simulated_answers(block: Block, needed: Collection[str]) -> Answers:
    """Return how the first points of a block end, whose scenario `in_blocks` allows.

    Where the engine's columns lack one that is needed, all points are left to be evaluated one by one.
    """
    on, strategies = block.scenario, block.strategies
    simulator = on.simulator
    assert isinstance(simulator, NativeSimulator)
    refused = refused_unfilled(on, strategies)
    filled = np.flatnonzero(refused.reason_of < 0)
    steps = _steps(on.model, on.resolved_divisibility, strategies, filled)
    count = len(strategies) if len(steps) == len(filled) else int(filled[len(steps)])
    places, workloads = [], []
    for place, step in zip(filled.tolist(), steps, strict=False):
        if step.workload is None:
            refused.reason_of[place] = len(refused.reasons)
            refused.reasons.append(step.reason)
        else:
            places.append(place)
            workloads.append(step.workload)
    columns: dict[str, pa.Array] = {}
    left: list[int] = []
    if places:
        ended, figures = simulator.simulate_all(workloads, on.system, _MOST_S)
        if len(ended) < len(places):
            count = places[len(ended)]
        if not figures.keys() >= set(needed):
            ended = np.zeros_like(ended)
        own = np.array(places[: len(ended)], np.intp)
        of_place = dict(zip(filled.tolist(), steps, strict=False))
        known = [of_place[place] for place in own.tolist()]
        columns = _spread(_columns(on, strategies.take(own), known, figures), own, count)
        left = own[~ended].tolist()
    return Answers(refused.reason_of[:count], refused.reasons, columns, left)


class _Step(NamedTuple):
    """The workload of a strategy, or why there is none; and what no real program can split."""

    workload: GeneratedWorkload | None
    reason: str = ""
    split: str | None = None


def _steps(
    model: ModelSpec, divisibility: Divisibility, strategies: Strategies, places: NDArray[np.intp]
) -> list[_Step]:
    """Return the steps of the strategies at the first places: all, unless making them takes long."""
    began = time.perf_counter()
    axes = tuple(strategies.codes)
    same = tuple([(name, values[0]) for name, values in strategies.values.items() if name not in axes])
    base = _base(model, divisibility, axes, same)
    some = strategies.take(places)
    keys = zip(*[some.column(name).tolist() for name in axes], strict=True) if axes else [()] * len(places)
    found: list[_Step] = []
    for place, key in zip(places.tolist(), keys, strict=True):
        found.append(_made.get((base, key), functools.partial(_step, model, divisibility, strategies, place)))
        if time.perf_counter() - began > _MOST_S:
            break
    return found


class _Base:
    """A model and the axes that all strategies of a block share; compared by identity."""


@functools.lru_cache(maxsize=1024)
def _base(
    model: ModelSpec,
    divisibility: Divisibility,
    axes: tuple[str, ...],
    same: tuple[tuple[str, AxisValue], ...],
) -> _Base:
    del model, divisibility, axes, same
    return _Base()


def _step(model: ModelSpec, divisibility: Divisibility, strategies: Strategies, place: int) -> _Step:
    strategy = strategies[place]
    try:
        workload = made_workload(model, strategy, fractional(model, strategy, divisibility))
    except InfeasibleStrategy as error:
        return _Step(None, str(error))
    return _Step(workload, split="; ".join(broken_units(model, strategy)) or None)


_REFUSED_BYTES = 1000
_made: ByteCache[tuple[_Base, tuple[AxisValue, ...]], _Step] = ByteCache(
    KEPT_BYTES, lambda step: step.workload.native.memory_bytes if step.workload else _REFUSED_BYTES
)


def _columns(
    on: Inputs, strategies: Strategies, steps: Sequence[_Step], figures: Mapping[str, NDArray[Any]]
) -> dict[str, pa.Array]:
    """Return the columns of steps that were simulated."""
    system, model = on.system, on.model
    columns = {name: pa.array(column) for name, column in figures.items()}
    if not system.track_local_memory:
        columns |= dict.fromkeys(_MEMORY, pa.nulls(len(steps), pa.int64()))
    cut = np.array([step.workload is not None and step.workload.is_fractional for step in steps], bool)
    wall = figures["wall_time_ns"]
    with np.errstate(divide="ignore", invalid="ignore"):
        possible = system.peak_tflops * 1e3 * wall * system.npus  # a TFLOPS is 10^3 operations per ns
        mfu = float(100 * model_operations(model)) / possible
        tokens = model.batch_size * model.seq_len * 1e9 / wall
    firsts, kinds = strategies.kinds([*GROUPED, "pp"])
    degrees = [[strategies.value(name, first) for name in (*GROUPED, "pp")] for first in firsts.tolist()]
    understated = list(understated_by_degrees(model, degrees, system))
    return {
        **columns,
        "fractional": pa.array(cut),
        "mfu_pct": pa.array(mfu, mask=cut | (possible <= 0) | (not follows_peak(system))),
        "tokens_per_s": pa.array(tokens, mask=cut | (wall <= 0)),
        "tokens_per_s_per_npu": pa.array(tokens / system.npus, mask=cut | (wall <= 0)),
        "understated_comm": pa.array(understated, pa.string()).take(pa.array(kinds)),
        "impossible_split": pa.array([step.split for step in steps], pa.string()),
    }


def _spread(columns: Mapping[str, pa.Array], places: NDArray[np.intp], count: int) -> dict[str, pa.Array]:
    """Return columns of points at some of `count` places, null at the others."""
    if len(places) == count:
        return dict(columns)
    rows, missing = np.zeros(count, np.int32), np.ones(count, bool)
    rows[places], missing[places] = np.arange(len(places)), False
    index = pa.array(rows, mask=missing)
    spread = {name: column.take(index) for name, column in columns.items()}
    spread["fractional"] = pc.fill_null(spread["fractional"], False)
    return spread
