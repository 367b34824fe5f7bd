"""Many plans as one study: clusters × models × batches × planners, resumed, on Ray too."""

from dse.studies.plans.evaluate import PlanEvaluator as PlanEvaluator
from dse.studies.plans.record import PLANS as PLANS
from dse.studies.plans.record import PlanRow as PlanRow
