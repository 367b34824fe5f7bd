"""Questions besides the best plan: subsets of nodes, prices, growth, failures, and what is worth it."""

from dse.planner.questions.failures import replan as replan
from dse.planner.questions.growth import growth as growth
from dse.planner.questions.prices import price_ranges as price_ranges
from dse.planner.questions.subsets import front as front
from dse.planner.questions.subsets import solve_subsets as solve_subsets
