"""Answers about a study, for all commands: the rows that a question means, the winner, and its text."""

from __future__ import annotations

from dse.answers.caps import BY_SYSTEM, Cap, apply_cap, fitting_rows, study_cap
from dse.answers.curves import CapStep, cap_curve, pareto_front
from dse.answers.groups import ANSWER_COLUMNS, Group, describe_variants, groups
from dse.answers.optima import AxisStudy, axis_studies
from dse.answers.selection import (
    SELECTION_COLUMNS,
    Selection,
    best,
    counts_by_status,
    ranking,
    runner_up,
    select,
)
from dse.answers.subjects import (
    Subject,
    Subjects,
    default_point,
    numbered,
    subject_of,
    subjects,
    unfinished_note,
)
from dse.answers.summary import render, render_axes, render_rows, row_to_json, to_json

__all__ = [
    "ANSWER_COLUMNS",
    "BY_SYSTEM",
    "SELECTION_COLUMNS",
    "AxisStudy",
    "Cap",
    "CapStep",
    "Group",
    "Selection",
    "Subject",
    "Subjects",
    "apply_cap",
    "axis_studies",
    "best",
    "cap_curve",
    "counts_by_status",
    "default_point",
    "describe_variants",
    "fitting_rows",
    "groups",
    "numbered",
    "pareto_front",
    "ranking",
    "render",
    "render_axes",
    "render_rows",
    "row_to_json",
    "runner_up",
    "select",
    "study_cap",
    "subject_of",
    "subjects",
    "to_json",
    "unfinished_note",
]
