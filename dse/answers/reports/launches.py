"""How frameworks run the best points of a question: the files of those that can, and why others cannot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dse.answers.launched import LaunchedJob, job_of_point
from dse.base.errors import DseError, InputError
from dse.prediction.frameworks.dialect import FRAMEWORKS
from dse.prediction.frameworks.launches import launch, summary
from dse.studies.points import PREDICTION, point_of_row
from dse.studies.store import StudyRow


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
