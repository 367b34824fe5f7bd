"""Predictions as the columns of rows: whole nanoseconds whose parts sum to them, and what a step is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.base.lazy import pa
from dse.inputs.strategies.columns import Strategies
from dse.prediction.runs.asked import AskedRun
from dse.prediction.steps.predict import PARTS, Prediction, flops_of_step
from dse.prediction.steps.predicted_strategies import Predictions, summed
from dse.prediction.steps.strategies import plan_of
from dse.studies.points.methods.method import Inputs

COMPUTE_PARTS = ("matrix_products", "attention", "memory_bound", "launches", "optimizer")
"""The parts of a prediction in which an NPU computes; the others are communication and waiting."""

_COMPUTE = [PARTS.index(name) for name in COMPUTE_PARTS]
_NS = 1e9


def parts_ns(prediction: Prediction) -> dict[str, int]:
    """Return the parts in whole ns; they sum to `wall_time_ns` exactly."""
    parts_s = np.array([[prediction.parts_s[name] for name in PARTS]])
    return dict(zip(PARTS, _parts_ns(parts_s)[0].tolist(), strict=True))


def _parts_ns(parts_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return parts in whole ns, steps x parts.

    Each is rounded down; what is missing goes to those that lost most, 1 ns each.
    """
    exact = parts_s * _NS
    found = exact.astype(np.int64)
    missing = _whole_ns(summed(parts_s)) - found.sum(axis=1)
    order = np.argsort(found - exact, axis=1, kind="stable")
    places = np.argsort(order, axis=1, kind="stable")
    rounds, rest = np.divmod(np.abs(missing), len(PARTS))
    added: NDArray[np.int64] = np.sign(missing)[:, None] * (rounds[:, None] + (places < rest[:, None]))
    return found + added


def _whole_ns(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(seconds * _NS).astype(np.int64)


def wall_time_ns(prediction: Prediction) -> int:
    """Return the time of a step in whole ns."""
    return round(prediction.step_s * _NS)


def range_ns(prediction: Prediction) -> tuple[int, int] | None:
    """Return from when to when 80 % of such steps end, in whole ns; None where nothing was measured."""
    if prediction.range_s is None:
        return None
    low_s, high_s = prediction.range_s
    return round(low_s * _NS), round(high_s * _NS)


def columns_of(on: Inputs, found: Predictions, strategies: Strategies) -> Mapping[str, pa.Array]:
    """Return the columns of strategies, null where none is predicted, without what only an engine measures.

    The time that is exposed is all in which no NPU of the decisive stage computes, bubbles included.
    """
    step_s, model, npus = found.step_s, on.model, on.system.npus
    wall = _whole_ns(step_s)
    gpu = _parts_ns(found.parts_s)[:, _COMPUTE].sum(axis=1)
    unknown, no_time = np.isnan(found.low), wall == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (np.rint(step_s * factor * _NS) for factor in (found.low, found.high))
        tokens = model.batch_size * model.seq_len * _NS / wall
        possible = on.system.peak_tflops * 1e3 * wall * npus  # a TFLOPS is 10^3 operations per ns
        mfu = 100 * flops_of_step(model) / possible
    notes = pa.array(["; ".join(each) or None for each in found.notes], pa.string())
    columns: dict[str, Any] = {
        "wall_time_ns": pa.array(wall),
        "wall_time_low_ns": pa.array(np.where(unknown, 0, low).astype(np.int64), mask=unknown),
        "wall_time_high_ns": pa.array(np.where(unknown, 0, high).astype(np.int64), mask=unknown),
        "gpu_time_ns": pa.array(gpu),
        "exposed_comm_ns": pa.array(wall - gpu),
        "peak_memory_bytes": pa.array(found.memory_bytes.sum(axis=1)),
        "mfu_pct": pa.array(mfu, mask=possible == 0),
        "tokens_per_s": pa.array(tokens, mask=no_time),
        "tokens_per_s_per_npu": pa.array(tokens / npus, mask=no_time),
        "prediction_notes": pa.DictionaryArray.from_arrays(pa.array(found.note_of.astype(np.int32)), notes),
    }
    if on.run is not None and len(found.places):
        columns |= _run_columns(on, on.run, strategies.take(found.places), columns)
    count = len(strategies)
    if len(found.places) == count:
        return columns
    rows, missing = np.zeros(count, np.int32), np.ones(count, bool)
    rows[found.places], missing[found.places] = np.arange(len(found.places)), False
    return {name: column.take(pa.array(rows, mask=missing)) for name, column in columns.items()}


def _run_columns(
    on: Inputs, run: AskedRun, strategies: Strategies, columns: Mapping[str, pa.Array]
) -> dict[str, pa.Array]:
    """Return the figures of the training run that the scenario asks for."""
    from dse.prediction.runs.columns import run_columns

    cluster = on.system.cluster
    assert cluster is not None
    # Checkpoints depend on the framework alone, and the replicas that are left on their number.
    firsts, kinds = strategies.kinds(["framework"] if run.elastic == "wait" else ["framework", "dp"])
    plans = [plan_of(on.model, strategies[place]) for place in firsts.tolist()]
    names = ("wall_time_ns", "gpu_time_ns", "wall_time_low_ns", "wall_time_high_ns")
    wall, gpu, low, high = (columns[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for name in names)
    steps = np.column_stack([wall, gpu, np.zeros(len(wall)), low, high]) / _NS
    found = run_columns(run, on.model, cluster, plans, kinds, steps, flops_of_step(on.model))
    return {name: pa.array(values, pa.float64(), from_pandas=True) for name, values in found.items()}
