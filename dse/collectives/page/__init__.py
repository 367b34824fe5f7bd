"""A schedule as one offline page: the graph with chunks moving, links over time, who waits at the end."""

from dse.collectives.page.page import render_page as render_page
