"""A study as one self-contained page: its data, and the page made of it (docs/report.md)."""

from dse.answers.reports.data import report_data as report_data
from dse.answers.reports.page import render_page as render_page
