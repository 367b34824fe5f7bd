"""The native solvers of schedules, plans and partitions, imported from here: `make sweep` leaves them out.

Raises:
    InputError: they are not built.
"""

from __future__ import annotations

from dse.base.errors import InputError

try:
    from dse.native._solvers import PARTITION_SLACK as PARTITION_SLACK
    from dse.native._solvers import CollectiveProblem as CollectiveProblem
    from dse.native._solvers import FoundSends as FoundSends
    from dse.native._solvers import MeshGather as MeshGather
    from dse.native._solvers import PartitionArrays as PartitionArrays
    from dse.native._solvers import PlanningProblem as PlanningProblem
    from dse.native._solvers import RouteSearch as RouteSearch
    from dse.native._solvers import StepQuestion as StepQuestion
    from dse.native._solvers import TimedLinks as TimedLinks
    from dse.native._solvers import TreeSearch as TreeSearch
    from dse.native._solvers import WalkResult as WalkResult
    from dse.native._solvers import decide_schedule as decide_schedule
    from dse.native._solvers import deliveries_needed as deliveries_needed
    from dse.native._solvers import entry_bounds as entry_bounds
    from dse.native._solvers import find_restarts as find_restarts
    from dse.native._solvers import flow_time as flow_time
    from dse.native._solvers import justified_starts as justified_starts
    from dse.native._solvers import negotiate_trees as negotiate_trees
    from dse.native._solvers import play_messages as play_messages
    from dse.native._solvers import search_beam as search_beam
    from dse.native._solvers import search_improve as search_improve
    from dse.native._solvers import search_plans_exactly as search_plans_exactly
    from dse.native._solvers import search_plans_in_time as search_plans_in_time
    from dse.native._solvers import search_restarts as search_restarts
    from dse.native._solvers import search_sum_trees as search_sum_trees
    from dse.native._solvers import search_sums as search_sums
    from dse.native._solvers import search_trees as search_trees
    from dse.native._solvers import short_set as short_set
    from dse.native._solvers import stage_sizes as stage_sizes
    from dse.native._solvers import walk_plans as walk_plans
except ModuleNotFoundError as error:
    raise InputError(
        "the solvers of schedules, plans and partitions are not built; write make install"
    ) from error
