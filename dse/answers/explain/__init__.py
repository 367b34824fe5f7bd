"""Why a design point takes its time and its memory; what a recording is split into (docs/explain.md)."""

from dse.answers.explain.breakdown import (
    AXES,
    CATEGORY_MEANINGS,
    MEANINGS,
    PARTS,
    Breakdown,
    breakdown,
    explain,
    explain_prediction,
)
from dse.answers.explain.comparison import compare
from dse.answers.explain.memory import CATEGORIES, memory
from dse.answers.explain.render import render, render_comparison

__all__ = [
    "AXES",
    "CATEGORIES",
    "CATEGORY_MEANINGS",
    "MEANINGS",
    "PARTS",
    "Breakdown",
    "breakdown",
    "compare",
    "explain",
    "explain_prediction",
    "memory",
    "render",
    "render_comparison",
]
