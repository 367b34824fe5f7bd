"""The native solvers of plans and partitions, imported from here because `make sweep` leaves them out.

Raises:
    InputError: they are not built.
"""

from __future__ import annotations

from dse.errors import InputError

try:
    from dse._solvers import PARTITION_SLACK as PARTITION_SLACK
    from dse._solvers import PartitionArrays as PartitionArrays
    from dse._solvers import PlanningProblem as PlanningProblem
    from dse._solvers import WalkResult as WalkResult
    from dse._solvers import search_plans_exactly as search_plans_exactly
    from dse._solvers import search_plans_in_time as search_plans_in_time
    from dse._solvers import walk_plans as walk_plans
except ModuleNotFoundError as error:
    raise InputError("the solvers of plans and partitions are not built here; write make install") from error
