"""The points that a question about a study means: of each group the best, its runner-up, and why these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dse.answers.caps import Cap, apply_cap, cap_words, study_cap
from dse.answers.changed_files import current_points
from dse.answers.distinct import distinct_points
from dse.answers.groups import ANSWER_COLUMNS, Group, groups
from dse.answers.selection import Selection, Whole, select
from dse.base.errors import InputError
from dse.base.lazy import pc
from dse.base.units import format_bytes
from dse.studies.store import Snapshot, StudyRow, StudyStore
from dse.studies.store.history import unfinished_sweep
from dse.studies.store.lookup import row_of_key

_Point = TypeVar("_Point")


@dataclass(frozen=True)
class Subject:
    """A group of rows and the point that stands for it.

    `row` is the best point under the cap, or the best of all where there is no cap or nothing fits under
    it. `note` then says so. `memory_cap_bytes` is the cap that `row` obeys, None in these cases. `runner_up`
    comes next under the same rule. Both are None where no point is ok. `number` is that of the group in the
    study. `candidates` are the rows that differ from `row` in their strategy only, if they were asked for.
    """

    title: str
    group: Group
    selection: Selection
    row: StudyRow | None
    runner_up: StudyRow | None
    memory_cap_bytes: int | None
    note: str = ""
    number: int = 0
    candidates: Sequence[StudyRow] = field(default=(), repr=False)

    @property
    def heading(self) -> str:
        """The lines above an answer, as `Group.heading`."""
        return self.group.heading


@dataclass(frozen=True)
class Subjects:
    """The subjects of a study, and `notes` for people that concern all of it."""

    found: list[Subject]
    notes: list[str]


def default_point(best: _Point | None, best_under_cap: _Point | None) -> _Point | None:
    """Return which of two optima stands for a group, given both (None means no such point)."""
    return best if best_under_cap is None else best_under_cap


def subject_of(group: Group, memory_cap_bytes: int | None, whole: Whole) -> Subject:
    """Return the default point of a group; `whole` as for `select`, the cap as `apply_cap` gives it."""
    selection = select(distinct_points(group.table), memory_cap_bytes=memory_cap_bytes, whole=whole)
    row = default_point(selection.optimum, selection.capped_optimum)
    obeys = selection.capped_optimum is not None
    note = ""
    if memory_cap_bytes is not None and row is not None and not obeys:
        smallest = selection.smallest_peak_memory_bytes or 0
        note = (
            f"nothing fits under {cap_words(memory_cap_bytes)} (the smallest peak memory is "
            f"{format_bytes(smallest)}): this is the best without a cap"
        )
    return Subject(
        title=group.title,
        group=group,
        selection=selection,
        row=row,
        runner_up=selection.capped_runner_up if obeys else selection.runner_up,
        memory_cap_bytes=memory_cap_bytes if obeys else None,
        note=note,
    )


def subjects(
    store: StudyStore,
    asked: Cap | None = None,
    *,
    key: str | None = None,
    number: int | None = None,
    with_candidates: bool = False,
) -> Subjects:
    """Return the default points of all groups of a study, or of group `number`; or the point of a key.

    The runner-up of the point of a key is the default point of its group. Groups without a point that is ok
    are left out, with a note.

    Raises:
        InputError: the folder is not a readable study; no such point or group; no point is ok; or as
            `apply_cap`.
    """
    cap = study_cap(asked, store)
    columns = (*ANSWER_COLUMNS, "key")
    chosen = None if key is None else row_of_key(store, key)

    def read() -> Subjects:
        snapshot = store.snapshot(columns)
        table, changed = (snapshot.table, []) if chosen is not None else current_points(snapshot.table)
        found = dict(enumerate(groups(table)))
        if chosen is not None:
            found = {index: group for index, group in found.items() if _has(group, chosen)}
        if number is not None:
            found = {number: numbered(list(found.values()), number)[0]}
        caps, notes = apply_cap(list(found.values()), cap)
        notes = [*changed, *notes]
        entries = [
            replace(subject_of(group, limit, snapshot.rows), number=index)
            for (index, group), limit in zip(found.items(), caps, strict=True)
        ]
        if chosen is not None:
            entries = [_about(entry, chosen) for entry in entries]
        notes += [f"{entry.title}: no point is ok" for entry in entries if entry.row is None]
        entries = [entry for entry in entries if entry.row is not None]
        if not entries:
            raise InputError(f"no point of {store.folder} is ok; dse best counts the others")
        if with_candidates:
            entries = [replace(entry, candidates=_candidates(snapshot, entry)) for entry in entries]
        return Subjects(entries, notes)

    answer = store.reading(read)
    return replace(answer, notes=[*answer.notes, *unfinished_note(store)])


def unfinished_note(store: StudyStore) -> list[str]:
    """Say how many points the latest sweep of a study has still to compute; nothing if none, or unknown."""
    unfinished = unfinished_sweep(store)
    return [] if unfinished is None else [unfinished.sentence()]


def numbered(found: list[Group], number: int | None) -> list[Group]:
    """Return the group of a number, counted from 0; all of them without one.

    Raises:
        InputError: no such group; names all.
    """
    if number is None:
        return found
    if not 0 <= number < len(found):
        titles = "; ".join(f"{index}: {group.title}" for index, group in enumerate(found))
        raise InputError(f"group {number} does not exist; groups are {titles}")
    return [found[number]]


def _has(group: Group, row: StudyRow) -> bool:
    return pc.any(pc.equal(group.table["key"], row.key)).as_py() is True


def _about(subject: Subject, row: StudyRow) -> Subject:
    """The same for another point of the group than the default one, which it is compared with."""
    if subject.row is not None and subject.row.key == row.key:
        return subject
    return replace(subject, row=row, runner_up=subject.row, note="")


def _candidates(snapshot: Snapshot, subject: Subject) -> list[StudyRow]:
    """The whole rows of a group that have the inputs of its point."""
    assert subject.row is not None
    table = subject.group.table
    for name in ("model_spec", "system_spec", "options"):
        text = getattr(subject.row, name)
        if text is None:
            return [subject.row]  # schema version 1: what follows says so
        table = table.filter(pc.equal(table[name], text))
    return snapshot.rows(table)
