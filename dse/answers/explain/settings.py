"""Points in the words of a framework: the settings that run one, and those by which another one differs."""

from __future__ import annotations

from typing import Any

from dse.answers.launched import job_of_point
from dse.base.errors import InputError
from dse.prediction.frameworks.checks.changes import difference
from dse.prediction.frameworks.checks.text import setting_line, setting_words
from dse.prediction.frameworks.launches import Launch, launch
from dse.studies.points import point_of_row
from dse.studies.store import StudyRow


def in_framework(row: StudyRow, other: StudyRow | None, framework: str) -> tuple[str, dict[str, Any]]:
    """Return how a framework runs a predicted point, and what turns it into another one: text and data.

    The data are {name, version, settings, lacks, changes} or {name, refused}: `lacks` and `changes` are
    {key: {from, to}}. What the framework lacks is replaced by the nearest that it has.

    Raises:
        InputError: the framework is unknown, or a point is simulated.
    """
    found = _launched(row, framework)
    if isinstance(found, str):
        return found, {"name": framework, "refused": found}
    settings, version = found.written.settings, found.written.dialect.table.version
    lines = [f"{framework} {version} runs {row.label()} by:", f"  {setting_line(settings)}", *_lacks(found)]
    data: dict[str, Any] = {"name": framework, "version": version, "settings": dict(settings)}
    data["lacks"] = {lack.field: {"from": lack.value, "to": lack.nearest} for lack in found.written.lacks}
    if other is not None:
        said, more = _changes(found, other, framework)
        lines += said
        data.update(more)
    return "\n".join(lines), data


def _launched(row: StudyRow, framework: str) -> Launch | str:
    """The job of a point as the framework runs it, or the nearest one; or the reason why it runs none."""
    found = job_of_point(point_of_row(row))
    try:
        return launch(found.job, found.cluster, framework, "slurm", nearest=True)  # places any order of axes
    except InputError as error:
        return str(error)


def _lacks(found: Launch) -> list[str]:
    return [f"  lacking {lack}" for lack in found.written.lacks]


def _changes(first: Launch, other: StudyRow, framework: str) -> tuple[list[str], dict[str, Any]]:
    second = _launched(other, framework)
    if isinstance(second, str):
        return [f"to get {other.label()}: {second}"], {"changes_refused": second}
    changed = difference(first.written.settings, second.written.settings)
    said = setting_words(changed, with_old=True) if changed else "no setting differs"
    data = {key: {"from": before, "to": after} for key, (before, after) in changed.items()}
    return [f"to get {other.label()}: {said}", *_lacks(second)], {"changes": data}
