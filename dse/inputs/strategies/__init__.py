"""A parallelisation strategy, and what makes one infeasible."""

from dse.inputs.strategies.axes import AxisValue as AxisValue
from dse.inputs.strategies.axes import StrategyAxis as StrategyAxis
from dse.inputs.strategies.divisibility import Divisibility as Divisibility
from dse.inputs.strategies.divisibility import InfeasibleStrategy as InfeasibleStrategy
from dse.inputs.strategies.divisibility import broken_units as broken_units
from dse.inputs.strategies.divisibility import check as check
from dse.inputs.strategies.divisibility import check_values as check_values
from dse.inputs.strategies.divisibility import indivisible as indivisible
from dse.inputs.strategies.divisibility import is_feasible as is_feasible
from dse.inputs.strategies.divisibility import require_divisible as require_divisible
from dse.inputs.strategies.divisibility import resolved_divisibility as resolved_divisibility
from dse.inputs.strategies.divisibility import value_problem as value_problem
from dse.inputs.strategies.groups import axis_of_group as axis_of_group
from dse.inputs.strategies.strategy import AXES as AXES
from dse.inputs.strategies.strategy import AXIS as AXIS
from dse.inputs.strategies.strategy import DEGREES as DEGREES
from dse.inputs.strategies.strategy import GROUPED as GROUPED
from dse.inputs.strategies.strategy import OPTIONS as OPTIONS
from dse.inputs.strategies.strategy import STRATEGY_FIELDS as STRATEGY_FIELDS
from dse.inputs.strategies.strategy import TRACED as TRACED
from dse.inputs.strategies.strategy import Strategy as Strategy
from dse.inputs.strategies.strategy import StrategyFields as StrategyFields
from dse.inputs.strategies.strategy import shown_axes as shown_axes
from dse.inputs.strategies.strategy import strategy_values as strategy_values
