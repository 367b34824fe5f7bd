"""Why a design point takes its time and its memory; what a recording is split into (docs/explain.md)."""

from dse.answers.explain.breakdown import AXES as AXES
from dse.answers.explain.breakdown import CATEGORY_MEANINGS as CATEGORY_MEANINGS
from dse.answers.explain.breakdown import MEANINGS as MEANINGS
from dse.answers.explain.breakdown import PARTS as PARTS
from dse.answers.explain.breakdown import Breakdown as Breakdown
from dse.answers.explain.breakdown import breakdown as breakdown
from dse.answers.explain.breakdown import explain as explain
from dse.answers.explain.breakdown import explain_prediction as explain_prediction
from dse.answers.explain.comparison import compare as compare
from dse.answers.explain.memory import CATEGORIES as CATEGORIES
from dse.answers.explain.memory import memory as memory
from dse.answers.explain.render import render as render
from dse.answers.explain.render import render_comparison as render_comparison
