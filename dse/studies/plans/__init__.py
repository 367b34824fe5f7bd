"""Many plans as one study: clusters × models × batches × planners, resumed, on Ray too."""

from dse.studies.plans.evaluate import PlanEvaluator
from dse.studies.plans.record import PLANS, PlanRow

__all__ = ["PLANS", "PlanEvaluator", "PlanRow"]
