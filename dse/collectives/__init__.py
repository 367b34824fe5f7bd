"""Collective algorithms made for a network: schedules, their synthesis, checks, bounds and files."""

from dse.collectives.problem.collective import COLLECTIVES as COLLECTIVES
from dse.collectives.problem.collective import Collective as Collective
from dse.collectives.problem.problem import LinkModel as LinkModel
from dse.collectives.problem.problem import Problem as Problem
from dse.collectives.problem.schedule import Schedule as Schedule
