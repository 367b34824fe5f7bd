"""Answers about a study, for all commands: the rows that a question means, the winner, and its text."""

from __future__ import annotations

from dse.answers.caps import BY_SYSTEM, Cap, apply_cap, study_cap
from dse.answers.curves import cap_curve, pareto_front
from dse.answers.groups import ANSWER_COLUMNS, Group, describe_variants, groups
from dse.answers.optima import AxisStudy, axis_studies
from dse.answers.selection import Selection, best, counts_by_status, ranking, runner_up, select
from dse.answers.subjects import Subject, default_point, subjects, unfinished_note
from dse.answers.summary import render, render_axes, render_rows, to_json

__all__ = [
    "ANSWER_COLUMNS",
    "BY_SYSTEM",
    "AxisStudy",
    "Cap",
    "Group",
    "Selection",
    "Subject",
    "apply_cap",
    "axis_studies",
    "best",
    "cap_curve",
    "counts_by_status",
    "default_point",
    "describe_variants",
    "groups",
    "pareto_front",
    "ranking",
    "render",
    "render_axes",
    "render_rows",
    "runner_up",
    "select",
    "study_cap",
    "subjects",
    "to_json",
    "unfinished_note",
]
