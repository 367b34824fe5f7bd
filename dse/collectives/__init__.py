"""Collective algorithms made for a network: schedules, their synthesis, checks, bounds and files."""

from dse.collectives.problem.collective import COLLECTIVES, Collective
from dse.collectives.problem.problem import LinkModel, Problem
from dse.collectives.problem.schedule import Schedule

__all__ = ["COLLECTIVES", "Collective", "LinkModel", "Problem", "Schedule"]
