"""Answers about a study, for all commands: the rows that a question means, the winner, and its text."""

from dse.answers.caps import BY_SYSTEM as BY_SYSTEM
from dse.answers.caps import Cap as Cap
from dse.answers.caps import apply_cap as apply_cap
from dse.answers.caps import study_cap as study_cap
from dse.answers.curves import cap_curve as cap_curve
from dse.answers.curves import pareto_front as pareto_front
from dse.answers.groups import ANSWER_COLUMNS as ANSWER_COLUMNS
from dse.answers.groups import Group as Group
from dse.answers.groups import describe_variants as describe_variants
from dse.answers.groups import groups as groups
from dse.answers.optima import AxisStudy as AxisStudy
from dse.answers.optima import axis_studies as axis_studies
from dse.answers.selection import Selection as Selection
from dse.answers.selection import best as best
from dse.answers.selection import counts_by_status as counts_by_status
from dse.answers.selection import ranking as ranking
from dse.answers.selection import runner_up as runner_up
from dse.answers.selection import select as select
from dse.answers.subjects import Subject as Subject
from dse.answers.subjects import default_point as default_point
from dse.answers.subjects import subjects as subjects
from dse.answers.subjects import unfinished_note as unfinished_note
from dse.answers.summary import render as render
from dse.answers.summary import render_axes as render_axes
from dse.answers.summary import render_rows as render_rows
from dse.answers.summary import to_json as to_json
