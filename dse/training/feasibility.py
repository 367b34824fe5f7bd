"""Whether a plan can run, without its time: what a search asks of a whole space."""

from __future__ import annotations

from dse.accelerators.cluster import Cluster
from dse.models import ModelSpec
from dse.training.balance import balanced
from dse.training.checks import check
from dse.training.layout import stages
from dse.training.plan import Plan


def require_feasible(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse what `predict` refuses.

    Raises:
        InfeasibleStrategy: says why the plan cannot run.
    """
    check(model, plan, cluster)
    stages(model, balanced(model, plan, cluster))
