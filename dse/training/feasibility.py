"""Whether a plan can run, without its time: what a search asks of a whole space."""

from __future__ import annotations

from dse.accelerators.cluster import Cluster
from dse.accelerators.placement import placement
from dse.errors import InputError
from dse.models import ModelSpec
from dse.strategies import InfeasibleStrategy
from dse.training.checks import check, micro_batches
from dse.training.layout import stages
from dse.training.local import Local
from dse.training.plan import Plan
from dse.training.schedules import schedule_named


def placed(model: ModelSpec, plan: Plan) -> None:
    """Refuse an order that no cluster can place.

    Raises:
        InfeasibleStrategy: says which orders can be placed.
    """
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    try:
        placement(plan.order, {**degrees, "expert_tp": Local(model, plan).expert_tp})
    except InputError as error:
        raise InfeasibleStrategy(str(error)) from None


def require_feasible(model: ModelSpec, plan: Plan, cluster: Cluster) -> None:
    """Refuse what `predict` refuses.

    Raises:
        InfeasibleStrategy: says why the plan cannot run.
    """
    check(model, plan, cluster)
    placed(model, plan)
    parts = stages(model, plan)
    if problem := schedule_named(plan.schedule).problem(plan.pp, len(parts[0]), micro_batches(model, plan)):
        raise InfeasibleStrategy(problem)
