"""Predicted against measured as one offline page: a scatter plot a source, tables of errors and parts."""

from dse.prediction.accuracy.page.page import render_page as render_page
