"""Schedules of a collective that simulations and predictions replay: made once, and kept on disk."""

from dse.collectives.made.kept import Solved
from dse.collectives.made.maker import Recipe, schedules_for

__all__ = ["Recipe", "Solved", "schedules_for"]
