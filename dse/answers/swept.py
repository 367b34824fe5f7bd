"""The answer of a sweep: the best of its own points per question, and of the study where that is better."""

from __future__ import annotations

from dse.answers import (
    ANSWER_COLUMNS,
    Cap,
    Group,
    Selection,
    apply_cap,
    describe_variants,
    groups,
    render_axes,
    render_rows,
    select,
)
from dse.answers.changed_files import current_points
from dse.answers.conventions import mfu_conventions
from dse.answers.distinct import distinct_points
from dse.answers.objectives import COLUMNS, OBJECTIVE_COLUMNS, objective_answers, objective_text
from dse.answers.optima import optima_of
from dse.answers.tables import best_of, studies_under
from dse.base.lazy import pa, pc
from dse.studies.store import Snapshot, StudyStore
from dse.studies.sweeps.notes import cuts

_SHOWN_GROUPS = 12


def sweep_answer(
    store: StudyStore, keys: pa.Array | None, cap: Cap, objective: str = "step"
) -> tuple[list[str], list[str]]:
    """Return the answer to each question of the points of a sweep as text, and lines next to the answers.

    Without `keys` all points of the study are those of the sweep. With an objective of runs, their winners
    over all systems and sizes come last.

    Raises:
        FileNotFoundError, InputError: as `StudyStore.snapshot`.
    """
    others = keys is not None
    columns = [*ANSWER_COLUMNS, "fractional", "impossible_split"]
    columns += OBJECTIVE_COLUMNS if objective in COLUMNS else ()
    snapshot = store.snapshot([*columns, "key"] if others else columns)
    table = snapshot.table
    if others:
        table = table.filter(pc.is_in(table["key"], value_set=keys))
    lines = cuts(
        table.num_rows,
        impossible=table.num_rows - table["impossible_split"].null_count,
        fractional=pc.sum(table["fractional"]).as_py() or 0,
    )
    questions = groups(table)
    caps, notes = apply_cap(questions, cap)
    lines += [f"note: {note}" for note in notes]
    studies = studies_under(snapshot, table, caps, cap)
    texts = [render_axes(study) for study in studies]
    shown = [row for study in studies for row in optima_of(study)]
    against_axes = {(study.model, study.system) for study in studies}
    asked = [entry for entry in zip(questions, caps, strict=True) if _named(entry[0]) not in against_axes]
    for group, size in asked[:_SHOWN_GROUPS]:
        own = Group(group.title, distinct_points(group.table))
        text, _, points = best_of(own, size, snapshot.rows)
        shown += [row for _, row in points]
        better: list[str] = []
        if others:
            selection = select(own.table, memory_cap_bytes=size, whole=snapshot.rows)
            better = _better_in_study(snapshot, group, selection)
        texts.append("\n".join([f"{group.heading}\n\n{text}", *better]))
    if len(asked) > _SHOWN_GROUPS:
        texts.append(f"... and {len(asked) - _SHOWN_GROUPS} more groups: dse best")
    if objective in COLUMNS:
        texts += map(objective_text, objective_answers(questions, caps, objective, snapshot.rows))
    conventions = "\n".join(mfu_conventions(shown))
    return [*texts, *([conventions] if conventions else [])], lines


def _better_in_study(snapshot: Snapshot, group: Group, selection: Selection) -> list[str]:
    """Name the best of the whole study for the question of a group, where it is not that of the sweep."""
    first = group.table.slice(0, 1)
    model, system = first["model_spec"].to_pylist()[0], first["system"].to_pylist()[0]
    rows = snapshot.table.filter(pc.equal(snapshot.table["system"], system))
    rows, changed = current_points(rows.filter(pc.is_in(rows["model_spec"], value_set=pa.array([model]))))
    whole = select(rows, memory_cap_bytes=selection.memory_cap_bytes, whole=snapshot.rows)
    labelled = [
        (label, row)
        for label, row, own in (
            ("  best of the study", whole.optimum, selection.optimum),
            ("  best under the cap", whole.capped_optimum, selection.capped_optimum),
        )
        if row is not None and row != own
    ]
    if not labelled:
        return changed
    heading = "the study has better points than those of this sweep"
    return ["", heading, render_rows(labelled, describe_variants(rows)), *changed]


def _named(group: Group) -> tuple[str, str]:
    """The names of the model and the system of a group."""
    table = group.table
    return (table["model"][0].as_py(), table["system"][0].as_py()) if table.num_rows else ("", "")
