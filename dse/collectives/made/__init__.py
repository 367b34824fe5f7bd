"""Schedules of a collective that simulations and predictions replay: made once, and kept on disk."""

from dse.collectives.made.kept import Solved as Solved
from dse.collectives.made.maker import Recipe as Recipe
from dse.collectives.made.maker import schedules_for as schedules_for
