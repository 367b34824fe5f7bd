"""Many plans as one study: clusters × models × batches × planners, resumed, on Ray too."""

from dse.plans.case import Case
from dse.plans.evaluate import evaluate
from dse.plans.record import PLANS, PlanRow

__all__ = ["PLANS", "Case", "PlanRow", "evaluate"]
