"""A plan as one offline page: its stages drawn over the hosts, what each takes, and why it is this plan."""

from dse.planner.page.page import render_page, render_subsets

__all__ = ["render_page", "render_subsets"]
