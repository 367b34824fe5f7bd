"""Stored points evaluated again: where time and memory of the best ones go, and what the best reacts to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.answers import whatif
from dse.answers.explain.answers import explanation_of
from dse.answers.launched import LaunchedJob, job_of_point
from dse.base.errors import DseError, InputError
from dse.prediction.frameworks.dialect import FRAMEWORKS
from dse.prediction.frameworks.launches import launch, summary
from dse.studies.points import PREDICTION, DesignPoint, point_of_row
from dse.studies.store import StudyRow

LOW, HIGH = 0.5, 2.0
"""What the tornado multiplies each parameter by."""

_UNITS = {"tflops": "TFLOPS", "gbps": "GB/s", "ns": "ns", "gbit_per_s": "Gb/s", "us": "µs"}


def _unit(key: str) -> str:
    """The unit in the name of a number, or of the group that it is in (`peak_tflops.bf16`)."""
    return next(unit for ending, unit in _UNITS.items() if f"_{ending}." in f"{key}.")


def explanation(point: DesignPoint) -> dict[str, Any]:
    """Return the parts of wall time and peak memory, as `Explanation.to_json` does, without the items.

    Raises:
        DseError: the point cannot be evaluated any more.
    """
    data = explanation_of(point).to_json()
    if data["memory"] is not None:
        del data["memory"]["items"]
    return data


def sensitivity(point: DesignPoint) -> list[dict[str, Any]]:
    """Return the wall time with each parameter of the system halved and doubled, largest span first.

    A list of {parameter, label, unit, value, elasticity, low_factor, high_factor, low_wall_time_ns,
    base_wall_time_ns, high_wall_time_ns, span_ns}; a wall time is None where the point is not ok.

    Raises:
        InputError: the system refuses a value.
    """
    found = []
    for answer in whatif.sensitivity(point, (LOW, HIGH)):
        base = answer.wall_time_ns
        low, high = (sample.wall_time_ns for sample in answer.samples)
        walls = [wall for wall in (base, low, high) if wall is not None]
        if base is None:
            continue
        found.append(
            {
                "parameter": answer.parameter.key,
                "label": answer.parameter.resource,
                "unit": _unit(answer.parameter.key),
                "value": answer.parameter.value,
                "elasticity": answer.elasticity,
                "low_factor": LOW,
                "high_factor": HIGH,
                "low_wall_time_ns": low,
                "base_wall_time_ns": base,
                "high_wall_time_ns": high,
                "span_ns": max(walls) - min(walls),
            }
        )
    return sorted(found, key=lambda entry: entry["span_ns"], reverse=True)


def runs(answers: Mapping[str, int | None], rows: Mapping[int, StudyRow]) -> list[dict[str, Any]]:
    """Return how the best point under the cap is run, then the best of all where it is another one.

    Each is {point, key, choices, refused}: its rank, {name, summary, files} of each framework that runs it
    as it is, and {name, reason} of the others. Simulated points, and those of older versions, are left out.
    """
    ranks = dict.fromkeys((answers["best_under_cap"], answers["best"]))
    return [run for rank in ranks if rank is not None for run in _runs(rank, rows[rank])]


def _runs(rank: int, row: StudyRow) -> Iterator[dict[str, Any]]:
    try:
        point = point_of_row(row)
        if point.scenario.method.name != PREDICTION.name:
            return
        job = job_of_point(point)
    except DseError:
        return
    tried = [_tried(job, name) for name in FRAMEWORKS.listed()]
    yield {
        "point": rank,
        "key": row.key,
        "choices": [one for one in tried if "files" in one],
        "refused": [one for one in tried if "reason" in one],
    }


def _tried(job: LaunchedJob, name: str) -> dict[str, Any]:
    try:
        found = launch(job.job, job.cluster, name)
    except InputError as error:
        return {"name": name, "reason": str(error)}
    return {"name": name, "summary": next(summary(found)), "files": dict(found.files)}
