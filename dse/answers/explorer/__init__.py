"""A scenario as a page in which our engine runs: its data, and the page made of it (docs/explorer.md)."""

from dse.answers.explorer.data import Subject as Subject
from dse.answers.explorer.data import Words as Words
from dse.answers.explorer.data import page_data as page_data
from dse.answers.explorer.data import space_choices as space_choices
from dse.answers.explorer.page import render_page as render_page
from dse.answers.explorer.page import render_predicted as render_predicted
from dse.answers.explorer.page import without_engine as without_engine
from dse.answers.explorer.predicted_data import predicted_choices as predicted_choices
from dse.answers.explorer.presets import why_not_live as why_not_live
from dse.answers.explorer.study import subject_of_study as subject_of_study
