"""The communicator groups of a plan: those of its placement, and those that share a copy of the weights."""

from __future__ import annotations

from dataclasses import replace

from dse.prediction.steps.plan import Plan
from tests.references.prediction.placement import Group, placement


def groups_of(plan: Plan) -> dict[str, Group]:
    """Return the groups of every axis (`tests.references.prediction.placement`), and `replicas`.

    Ranks of `dp_cp` hold one copy of the weights together where ZeRO shards them; those of `replicas` hold
    the same shard of different copies: each is alone unless the plan has `shard_ranks` (hybrid sharding, Zhao
    et al. 2023, section 3.2.2), which follow each other in the order of the ranks.

    Raises:
        InputError: as `placement`.
    """
    degrees = {"tp": plan.tp, "cp": plan.cp, "ep": plan.ep, "dp": plan.dp, "pp": plan.pp}
    found = placement(plan.order, {**degrees, "expert_tp": plan.expert_degree})
    whole = found["dp"]
    if not plan.shard_ranks:
        return {**found, "replicas": replace(whole, size=1)}
    shard = plan.shard_ranks
    return {
        **found,
        "dp_cp": replace(whole, size=shard, ranks=whole.total),
        "replicas": Group(whole.size // shard, whole.stride * shard, ranks=whole.total),
    }
