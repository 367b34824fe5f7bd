"""Whether a plan can run, without its time: what a search asks of a whole space."""

from __future__ import annotations

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models import ModelSpec
from dse.prediction.steps.balance import balanced
from dse.prediction.steps.checks import check
from dse.prediction.steps.layout import stages
from dse.prediction.steps.plan import Plan


def require_feasible(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse what `predict` refuses.

    Raises:
        InfeasibleStrategy: says why the plan cannot run.
    """
    check(model, plan, cluster)
    stages(model, balanced(model, plan, cluster))
