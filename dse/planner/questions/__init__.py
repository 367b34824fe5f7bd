"""Questions besides the best plan: subsets of nodes, prices, growth, failures, and what is worth it."""

from dse.planner.questions.failures import replan
from dse.planner.questions.growth import growth
from dse.planner.questions.prices import price_ranges
from dse.planner.questions.subsets import front, solve_subsets

__all__ = ["front", "growth", "price_ranges", "replan", "solve_subsets"]
