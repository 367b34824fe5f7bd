"""The page of a partition: its graph coloured by device, collapsed to modules where there are many nodes."""

from dse.partition.page.page import render_page as render_page
