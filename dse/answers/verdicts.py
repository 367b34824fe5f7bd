"""Predicted points that may fit: above the memory of their accelerator by less than predictions are off."""

from __future__ import annotations

from collections.abc import Callable

from dse.answers.texts import combined, rows_with
from dse.base.lazy import pa, pc
from dse.base.units import format_bytes, format_duration_ns
from dse.inputs.systems.values import memory_of_spec
from dse.prediction.steps.predict import Verdict, margin_of, most_that_may_fit, verdict
from dse.studies.points import PREDICTION, method_of_options
from dse.studies.store.schema import StudyRow


def points_that_may_fit(table: pa.Table, capacity_bytes: int, faster_than_ns: float | None) -> pa.Array:
    """Return the indices of points above a capacity that may fit, and are faster than a wall time."""
    peaks = table["peak_memory_bytes"]
    found = pc.greater(peaks, capacity_bytes)
    if not pc.any(found).as_py():
        return pa.array([], pa.int64())
    found = pc.and_(found, rows_with(table["status"], "ok"))
    if faster_than_ns is not None:
        found = pc.and_(found, pc.less(table["wall_time_ns"], faster_than_ns))
    most = _by_framework(table, lambda margin: most_that_may_fit(capacity_bytes, margin))
    found = pc.and_(found, pc.less_equal(peaks, most))
    return pc.indices_nonzero(pc.fill_null(found, False))


def points_that_fit(table: pa.Table, capacity_bytes: int) -> pa.Array:
    """Return the indices of points that fit even if their peaks are larger by the margin of predictions."""
    factors = _by_framework(table, lambda margin: 1 + margin)
    largest = pc.multiply(table["peak_memory_bytes"].cast("float64"), factors)
    found = pc.and_(rows_with(table["status"], "ok"), pc.less_equal(largest, float(capacity_bytes)))
    return pc.indices_nonzero(pc.fill_null(found, False))


def _by_framework(table: pa.Table, of_margin: Callable[[float], float]) -> pa.Array:
    """Return for each point what follows from the margin of its framework."""
    names = combined(table["framework"].dictionary_encode())
    found = [of_margin(_margin(name)) for name in names.dictionary.to_pylist()]
    return pa.array(found, pa.float64()).take(names.indices)


def _margin(framework: str | None) -> float:
    return 0.0 if framework is None else margin_of(framework)


def verdict_of(row: StudyRow, capacity_bytes: int) -> Verdict | None:
    """Return whether a predicted point fits into its own accelerators; None where another cap is asked for.

    Simulated peaks are exact: they have no margin.
    """
    if row.peak_memory_bytes is None or not _is_capacity(row, capacity_bytes):
        return None
    return verdict(row.peak_memory_bytes, capacity_bytes, _margin(row.framework))


def _is_capacity(row: StudyRow, cap_bytes: int) -> bool:
    is_predicted = method_of_options(row.options).name == PREDICTION.name
    return is_predicted and memory_of_spec(row.system_spec) == cap_bytes


def may_fit_words(row: StudyRow, capacity_bytes: int) -> str:
    """Say by how much a point that may fit exceeds the memory, and by how much predictions are off."""
    excess = (row.peak_memory_bytes or 0) / capacity_bytes - 1
    taken = format_duration_ns(row.wall_time_ns or 0)
    return (
        f"may fit: {row.label()} takes {taken}; its peak is {100 * excess:.1f} % above the memory, and "
        f"predicted peaks are off by up to {100 * _margin(row.framework):.3g} %"
    )


def verdict_words(peak_memory_bytes: int, capacity_bytes: int, framework: str) -> str:
    """Say whether a predicted peak fits, and by what margin."""
    margin = margin_of(framework)
    found = verdict(peak_memory_bytes, capacity_bytes, margin)
    capacity = format_bytes(capacity_bytes)
    if found == "may fit":
        return f"may fit: {capacity} is within {100 * margin:.3g} %, by which predictions are off"
    return f"{found} in {capacity}, off by up to {100 * margin:.3g} %"
