"""The subject of a page from a study: the scenario of its best point, its rows, other ones as presets."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from dse.answers import Cap as MemoryCap
from dse.answers import apply_cap, study_cap, subjects
from dse.answers.explorer.data import STRATEGY_FIELDS, Subject, Words
from dse.answers.explorer.presets import Preset
from dse.answers.reports.commands import Commands, hydra
from dse.answers.subjects import Subject as Question
from dse.base.errors import InputError
from dse.studies.points import Scenario, point_of_row
from dse.studies.points.inputs import model_of_json, system_of_json
from dse.studies.store import StudyRow, StudyStore
from dse.studies.store.history import stored_configuration

_POINT_WORDS = 4  # python -m dse point
_ALONE = ("dp * tp * sp * pp == npus",)

Choices = dict[str, Sequence[Any] | None]


def subject_of_study(
    store: StudyStore[StudyRow],
    *,
    cap: MemoryCap | None = None,
    title: str | None = None,
    max_points: int = 2000,
    reason: str = "",
) -> tuple[Subject, list[str]]:
    """Return what a page about a study shows, and notes for people; `reason` as for `Subject`.

    The scenario is that of the point that stands for the first question of the study. Its rows are the best
    `max_points` of those with the same inputs.

    Raises:
        InputError: the folder is not a readable study, no point is ok, or rows do not say their inputs.
    """
    found = subjects(store, cap, with_candidates=True)
    first = found.found[0]
    assert first.row is not None
    caps, _ = apply_cap([first.group], study_cap(cap, store))
    scenario, problem = _scenario(first.row)
    commands = Commands()
    choices, constraints, space_words = _space(store, first.candidates)
    words = _words(commands, first.row)
    if caps[0] is not None and caps[0] != scenario.system.memory_bytes:
        space_words = (*space_words, f"memory_cap={caps[0]}B")
    others = [row for entry in found.found for row in _one_of_each(entry)]
    rows = sorted(first.candidates, key=_order)[:max_points]
    notes = list(found.notes)
    if len(rows) < len(first.candidates):
        notes.append(f"the page has the best {len(rows)} of {len(first.candidates)} points")
    subject = Subject(
        scenario=scenario,
        choices=choices,
        constraints=constraints,
        words=Words(words, space_words),
        memory_cap_bytes=caps[0],
        title=title or f"{first.row.model} on {first.row.system}",
        study=store.folder.resolve().name,
        rows=rows,
        models=_models(commands, scenario, others),
        systems=_systems(commands, scenario, others),
        reason=problem or reason,
    )
    return subject, notes


def _one_of_each(entry: Question) -> list[StudyRow]:
    """A row for each model and system of a question: the one of its point, with their inputs."""
    inputs = ("model_spec", "system_spec", "options")
    table = entry.group.table.select(inputs).group_by(list(inputs), use_threads=False).aggregate([])
    assert entry.row is not None
    return [dataclasses.replace(entry.row, **each) for each in table.to_pylist()]


def _scenario(row: StudyRow) -> tuple[Scenario, str]:
    """The scenario of a row, and why its rows are not what the engine in the page would say."""
    try:
        return point_of_row(row).scenario, ""
    except InputError as error:
        if row.model_spec is None or row.system_spec is None:
            raise
        model, system = model_of_json(row.model_spec), system_of_json(row.system_spec)
        return Scenario(row.study, model, system), str(error)


def _order(row: StudyRow) -> tuple[Any, ...]:
    return row.status != "ok", row.wall_time_ns or 0, row.peak_memory_bytes or 0


def _words(commands: Commands, row: StudyRow) -> tuple[str, ...]:
    return tuple(shlex.split(commands.origin(row).command)[_POINT_WORDS:])


def _space(
    store: StudyStore[StudyRow], rows: Sequence[StudyRow]
) -> tuple[Choices, Sequence[str], tuple[str, ...]]:
    """The space of the latest sweep, where that is known, or else that of the rows; and its words."""
    from dse.studies.config import compose_config

    stored = _stored_space(store)
    if stored is None:
        choices: Choices = {name: sorted({getattr(row, name) for row in rows}) for name in STRATEGY_FIELDS}
        constraints: Sequence[str] = _ALONE
        name = "lab"
    else:
        choices = {each: stored.get(each) for each in STRATEGY_FIELDS}
        constraints = [str(text) for text in stored.get("constraints") or ()]
        name = str(stored.get("name"))
    words: list[str] = []
    try:
        base = compose_config([f"space={name}"]).space
        words += [f"space={name}"] if name != "lab" else []
    except InputError:  # a file of someone's own
        base = compose_config([]).space
    for each in STRATEGY_FIELDS:
        if _listed(base.choices[each]) != _listed(choices[each]):
            words.append(f"space.{each}={hydra(_listed(choices[each]))}")
    if list(base.constraints) != list(constraints):
        words.append(f"space.constraints={hydra(list(constraints))}")
    return choices, constraints, tuple(words)


def _listed(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _stored_space(store: StudyStore[StudyRow]) -> Mapping[str, Any] | None:
    for path in reversed(store.sweeps()):
        space = stored_configuration(path).get("space")
        if isinstance(space, dict) and space.keys() >= set(STRATEGY_FIELDS):
            kinds = [type(space[each]) for each in STRATEGY_FIELDS] + [type(space.get("constraints"))]
            if set(kinds) <= {list, type(None)}:
                return space
    return None


def _models(commands: Commands, on: Scenario, rows: Sequence[StudyRow]) -> list[Preset]:
    """The other models of a study; those that are called as another one get a number."""
    found: list[Preset] = []
    for row in rows:
        if row.model_spec is None:
            continue
        model = model_of_json(row.model_spec)
        known = [on.model, *(each.spec for each in found)]
        if model in known or model.fidelity != on.model.fidelity:
            continue
        words = [word for word in _words(commands, row) if word.startswith("model")]
        found.append(Preset(_new_name(model.name, found), model, tuple(words)))
    return found


def _systems(commands: Commands, on: Scenario, rows: Sequence[StudyRow]) -> list[Preset]:
    found: list[Preset] = []
    for row in rows:
        if row.system_spec is None:
            continue
        system = system_of_json(row.system_spec)
        if system in [on.system, *(each.spec for each in found)]:
            continue
        words = [word for word in _words(commands, row) if word.startswith("system")]
        found.append(Preset(_new_name(system.name, found), system, tuple(words)))
    return found


def _new_name(name: str, found: Sequence[Preset]) -> str:
    """Of several with a name, which a study over axes has, a number distinguishes the later ones."""
    taken = {each.name for each in found}
    numbered = itertools.chain([name], (f"{name}, variant {number}" for number in itertools.count(2)))
    return next(each for each in numbered if each not in taken)
