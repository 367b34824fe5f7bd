"""Questions besides the best plan: subsets of nodes, prices, growth, failures, and what is worth it."""

from dse.planner.questions.failures import Replan, replan
from dse.planner.questions.growth import Growth, growth
from dse.planner.questions.pareto import front
from dse.planner.questions.prices import PriceRange, price_ranges
from dse.planner.questions.subsets import Solve, Subset, solve_subsets

__all__ = [
    "Growth",
    "PriceRange",
    "Replan",
    "Solve",
    "Subset",
    "front",
    "growth",
    "price_ranges",
    "replan",
    "solve_subsets",
]
