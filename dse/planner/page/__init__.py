"""A plan as one offline page: its stages drawn over the hosts, what each takes, and why it is this plan."""

from dse.planner.page.page import render_page as render_page
from dse.planner.page.page import render_subsets as render_subsets
