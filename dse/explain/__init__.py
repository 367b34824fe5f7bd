"""Why a design point takes its time and its memory; what a recording is split into (docs/explain.md)."""

from dse.explain.breakdown import AXES, PARTS, Breakdown, breakdown
from dse.explain.comparison import Comparison, Difference, compare
from dse.explain.explanation import Explanation, explain
from dse.explain.memory import CATEGORIES, MemoryAtPeak, MemoryItem, memory
from dse.explain.render import render, render_comparison

__all__ = [
    "AXES",
    "CATEGORIES",
    "PARTS",
    "Breakdown",
    "Comparison",
    "Difference",
    "Explanation",
    "MemoryAtPeak",
    "MemoryItem",
    "breakdown",
    "compare",
    "explain",
    "memory",
    "render",
    "render_comparison",
]
