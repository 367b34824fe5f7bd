"""A scenario as a page in which our engine runs: its data, and the page made of it (docs/explorer.md)."""

from __future__ import annotations

from dse.answers.explorer.data import Subject, Words, page_data, space_choices
from dse.answers.explorer.page import render_page, render_predicted, without_engine
from dse.answers.explorer.predicted_data import predicted_choices
from dse.answers.explorer.presets import why_not_live
from dse.answers.explorer.study import subject_of_study

__all__ = [
    "Subject",
    "Words",
    "page_data",
    "predicted_choices",
    "render_page",
    "render_predicted",
    "space_choices",
    "subject_of_study",
    "why_not_live",
    "without_engine",
]
