"""Answers about a study as text, as plain data, and as rows of a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dse.answers.caps import Cap, apply_cap, fitting_rows, nothing_fits, under
from dse.answers.changed_files import current_points
from dse.answers.conventions import mfu_conventions
from dse.answers.curves import cap_curve, pareto_front
from dse.answers.distinct import distinct_points
from dse.answers.fidelities import fidelity_of
from dse.answers.groups import Group, describe_variants, groups, sortable, variant_fields, variant_of
from dse.answers.objectives import COLUMNS, OBJECTIVE_COLUMNS, objective_answers, objective_text
from dse.answers.optima import AxisStudy, axis_studies, optima_of
from dse.answers.selection import Whole, finished_points, rank_order
from dse.answers.subjects import numbered, subject_of
from dse.answers.summary import SHOWN_SETTINGS, render, render_axes, render_rows, row_to_json, to_json
from dse.answers.tops import split_by, tops
from dse.base.lazy import pa, pc
from dse.base.texts import counted
from dse.base.units import format_bytes
from dse.inputs.systems.values import shown
from dse.studies.store import RowExpression, Snapshot, StudyRow

_SHOWN_VARIANTS = 20

Labelled = list[tuple[str, StudyRow]]


@dataclass(frozen=True)
class Question:
    """The rows to list: the best point and its runner-up; or for every cap; or the front; or the first `top`.

    `by` are columns whose values make groups of their own, `cost` is a third objective of the front. If
    points are `mixed`, those of all models, systems and numbers of NPUs compete. An `objective` of runs
    adds its winners over all systems and sizes. With `only_text` nothing is computed for `Answers.data` and
    `Answers.points` alone.
    """

    caps: bool = False
    pareto: bool = False
    top: int | None = None
    by: Sequence[str] = ()
    cost: RowExpression | None = None
    mixed: bool = False
    number: int | None = None
    exact: bool = False
    objective: str = "step"
    only_text: bool = False

    @property
    def objective_columns(self) -> Sequence[str]:
        """The columns that the objective needs."""
        return OBJECTIVE_COLUMNS if self.objective in COLUMNS else ()

    @property
    def is_plain(self) -> bool:
        """Whether it asks for the best points of all groups, and nothing else."""
        return not (self.caps or self.pareto or self.top or self.by or self.mixed or self.number is not None)


@dataclass
class Answers:
    """The answer for each group."""

    texts: list[str] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conventions: list[str] = field(default_factory=list)

    def add(self, title: str, text: str, data: dict[str, Any], points: Labelled) -> None:
        """Add the answer for a group; `points` have labels."""
        self.texts.append(text)
        found = {fidelity_of(row.model_spec, row.options) for _, row in points}
        how = {"fidelity": found.pop()} if len(found) == 1 else {}
        self.data.append({"title": title, **how, **data, "mfu": mfu_conventions(row for _, row in points)})
        self.name_conventions(row for _, row in points)
        for label, row in points:
            self.points.append({"group": title, "label": label, **row_to_json(row)})

    def name_conventions(self, rows: Iterable[StudyRow | None]) -> None:
        """Say below all answers what the MFU of these rows counts."""
        self.conventions = list(dict.fromkeys([*self.conventions, *mfu_conventions(rows)]))


def studies_under(
    snapshot: Snapshot, table: pa.Table, caps: Sequence[int | None], cap: Cap
) -> list[AxisStudy]:
    """Return the axis studies to show of rows of a snapshot, whose groups have these caps."""
    return axis_studies(
        distinct_points(table),
        memory_cap_bytes=next((size for size in caps if size is not None), None),
        by_system=cap.by_system,
        whole=snapshot.rows,
        most=SHOWN_SETTINGS,
    )


def answers_of(snapshot: Snapshot, table: pa.Table, question: Question, cap: Cap) -> Answers:
    """Answer a question for every group of a table of the snapshot.

    Raises:
        InputError: no such group or column; or as `apply_cap`, `cap_curve` and `pareto_front`.
    """
    table, changed = current_points(table)
    found = [Group("all points", table)] if question.mixed and table.num_rows else groups(table)
    found = numbered(found, question.number)
    answers = Answers()
    caps, answers.notes = apply_cap(found, cap)
    answers.notes = [*changed, *answers.notes]
    studies: list[AxisStudy] = []
    if question.is_plain:
        studies = studies_under(snapshot, table, caps, cap)
        answers.texts += [render_axes(study, exact=question.exact) for study in studies]
        answers.name_conventions(row for study in studies for row in optima_of(study))
    for group, limit in zip(found, caps, strict=True):
        points = distinct_points(group.table)
        is_listed = question.top is not None or question.caps or question.pareto
        variants = describe_variants(group.table, mixed=question.mixed) if is_listed else {}
        if question.top is not None:
            entries = tops(fitting_rows(points, limit), question.by, question.top, whole=snapshot.rows)
            for values, rows in entries:
                title, heading = _title(group, question, values), _heading(group, question, values)
                labelled = [(f"  {number}", row) for number, row in enumerate(rows, 1)]
                caption = f"the {f'{len(rows)} ' if len(rows) > 1 else ''}fastest {under(limit)}"
                _add_rows(answers, title, f"{heading}\n{caption}\n\n", labelled, variants, limit, question)
            if not entries:
                heading = f"{group.heading}\n\n" if points.num_rows else ""
                text = f"{heading}{nothing_fits(points, limit)}"
                answers.add(group.title, text, {"memory_cap_bytes": limit, "points": []}, [])
            continue
        for values, indices in split_by(points, question.by) if question.by else [((), None)]:
            part = points if indices is None else points.take(indices)
            title = _title(group, question, values)
            heading = f"{_heading(group, question, values)}\n\n" if part.num_rows else ""
            some = Group(title, part)
            if question.caps or question.pareto:
                _add_curve(answers, some, heading, variants, limit, question, snapshot)
            else:
                _add_best(answers, some, heading, limit, question, snapshot, is_listed=not studies)
    if question.objective in COLUMNS:
        for one in objective_answers(found, caps, question.objective, snapshot.rows):
            answers.texts.append(objective_text(one, exact=question.exact))
            answers.data.append(one.data())
    return answers


def _add_curve(
    answers: Answers,
    group: Group,
    heading: str,
    variants: Any,
    limit: int | None,
    question: Question,
    snapshot: Snapshot,
) -> None:
    table = fitting_rows(group.table, limit)
    if limit is not None:
        heading = heading.removesuffix("\n") + f"the points {under(limit)}\n\n"
    if question.caps:
        steps = cap_curve(table, whole=snapshot.rows)
        labelled = [(f"  from {format_bytes(step.memory_cap_bytes)}", step.row) for step in steps]
    else:
        costs = [] if question.cost is None else [question.cost.numbers(table)]
        front = pareto_front(table, costs=costs, whole=snapshot.rows)
        labelled = [(f"  {number}", row) for number, row in enumerate(front, 1)]
    if not labelled:
        answers.add(group.title, f"{heading}{nothing_fits(group.table, limit)}", {"points": []}, [])
        return
    _add_rows(answers, group.title, heading, labelled, variants, limit, question)


def _add_rows(
    answers: Answers,
    title: str,
    heading: str,
    labelled: Labelled,
    variants: Any,
    limit: int | None,
    question: Question,
) -> None:
    shown_rows = [
        (f"{label} {row.model} on {row.system}, {counted(row.npus, 'NPU')}" if question.mixed else label, row)
        for label, row in labelled
    ]
    points = [
        {"label": label.strip(), "variant": variant_of(row, variants), **row_to_json(row)}
        for label, row in labelled
    ]
    data = {} if question.caps else {"memory_cap_bytes": limit}
    text = heading + render_rows(shown_rows, variants, exact=question.exact)
    answers.add(title, text, {**data, "points": points}, labelled)


def _add_best(
    answers: Answers,
    group: Group,
    heading: str,
    limit: int | None,
    question: Question,
    snapshot: Snapshot,
    *,
    is_listed: bool,
) -> None:
    text, data, points = best_of(
        group,
        limit,
        snapshot.rows,
        mixed=question.mixed,
        is_listed=is_listed,
        exact=question.exact,
        only_text=question.only_text,
    )
    answers.add(group.title, heading + text, data, points)


def best_of(
    group: Group,
    memory_cap_bytes: int | None,
    whole: Whole,
    *,
    mixed: bool = False,
    is_listed: bool = True,
    exact: bool = False,
    only_text: bool = False,
) -> tuple[str, dict[str, Any], Labelled]:
    """Both optima of a group, their runners-up and the best point of each variant: text, data and rows.

    The text lists the variants only if `is_listed`; where it does not, `only_text` leaves them out.
    """
    variants = describe_variants(group.table, mixed=mixed)
    selection = subject_of(group, memory_cap_bytes, whole).selection
    named = {
        "best": selection.optimum,
        "runner_up": selection.runner_up,
        "best_under_cap": selection.capped_optimum,
        "runner_up_under_cap": selection.capped_runner_up,
    }
    points = [(name, row) for name, row in named.items() if row is not None]
    texts, data = [render(selection, variants, exact=exact)], to_json(selection)
    if not is_listed and only_text:
        return "\n\n".join(texts), data, points
    each, omitted, fields = _best_of_each(group, memory_cap_bytes, whole)
    if each:
        labelled = [("  best" if fits else "  does not fit", row) for row, fits in each]
        lines = [f"the best of each variant {under(memory_cap_bytes)}"]
        lines += ["", render_rows(labelled, variants, exact=exact)]
        if omitted:
            lines.append(f"  ... and {omitted} more: top=1 by={','.join(fields)} has all")
        if is_listed:
            texts.append("\n".join(lines))
        data["variants"] = [
            {"variant": variant_of(row, variants), "fits": fits, **row_to_json(row)} for row, fits in each
        ]
        points += [(f"variant {variant_of(row, variants)}", row) for row, _ in each]
    return "\n\n".join(texts), data, points


def _best_of_each(
    group: Group, memory_cap_bytes: int | None, whole: Whole
) -> tuple[list[tuple[StudyRow, bool]], int, list[str]]:
    """The default point of each variant of a system and whether it fits, in the order of their values.

    At most `_SHOWN_VARIANTS`, how many more there are, and the fields that vary; empty if there is only one.
    Rows of schema version 1 have no variants.
    """
    table = group.table
    if table["system_spec"].null_count or table["options"].null_count:
        return [], 0, []
    parts = split_by(table, ("system_spec", "options"))
    if len(parts) < 2:
        return [], 0, []
    fields = variant_fields(table)
    ordered = []
    for (system, options), indices in parts:
        values = {**fields.get(system, {}), **fields.get(options, {})}
        order = [(name, type(value).__name__, sortable(value)) for name, value in values.items()]
        ordered.append((order, system, options, indices))
    ordered.sort(key=lambda entry: entry[:3])
    listed = [indices for *_, indices in ordered[:_SHOWN_VARIANTS]]
    rows_of, first = table.take(pa.concat_arrays(listed)), 0
    best = []
    for indices in listed:
        best.append(_best_row(rows_of.slice(first, len(indices)), memory_cap_bytes))
        first += len(indices)
    some = [entry for entry in best if entry is not None]
    rows = whole(pa.concat_tables([row for row, _ in some])) if some else []
    found = [(row, fits) for row, (_, fits) in zip(rows, some, strict=True)]
    varying = [fields.get(text, {}) for entry in ordered for text in entry[1:3]]
    return (
        found,
        len(ordered[_SHOWN_VARIANTS:]),
        list(dict.fromkeys(name for some in varying for name in some)),
    )


def _best_row(table: pa.Table, memory_cap_bytes: int | None) -> tuple[pa.Table, bool] | None:
    """A table of the point that stands for these rows, as `subject_of` chooses it, and whether it fits."""
    for some, fits in ((fitting_rows(table, memory_cap_bytes), True), (table, False)):
        finished = some.take(finished_points(some))
        if finished.num_rows:
            walls = finished["wall_time_ns"]
            fastest = finished.filter(pc.equal(walls, pc.min(walls)))
            return fastest.take(rank_order(fastest)[:1]), fits
    return None


def _title(group: Group, question: Question, values: Sequence[Any]) -> str:
    if not question.by:
        return group.title
    pairs = [f"{name}={shown(_plain(value))}" for name, value in zip(question.by, values, strict=True)]
    return f"{group.title}: {' '.join(pairs)}"


def _heading(group: Group, question: Question, values: Sequence[Any]) -> str:
    """The title, how points were computed, and what is easily mistaken."""
    return Group(_title(group, question, values), group.table).heading


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if hasattr(value, "item") else value
