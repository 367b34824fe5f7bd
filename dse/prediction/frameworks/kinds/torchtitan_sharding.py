"""Stages of ZeRO as torchtitan has them: copies, shards, and what stays gathered; both ways."""

from __future__ import annotations

from typing import Any

from dse.prediction.frameworks.job import Job, Lack
from dse.prediction.frameworks.rules import Facts


def sharding_values(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    """Return the fields of the plan that say what of a model each rank holds; cp shards weights, too."""
    replicate, shard, cp = facts["replicate"], facts["shard"], facts["cp"]
    if shard * cp == 1:
        return {"weight_sharded": False, "zero": 0 if facts["dp"] > 1 else 1, "shard_ranks": 0}
    is_copied = replicate > 1 and shard > 1
    if facts["reshard"] == "never" and facts["pp"] == 1 and not is_copied:
        return {"weight_sharded": False, "zero": 2, "shard_ranks": 0}
    if facts["reshard"] == "always" and facts["pp"] > 1:
        assumed.append("weights gathered once a step, where torchtitan gathers them for each micro-batch")
    if replicate > 1 and (cp > 1 or facts["has_experts"]):
        assumed.append("weights sharded over all of dp, where copies with cp or experts are not modelled")
        return {"weight_sharded": True, "zero": 1, "shard_ranks": 0}
    return {"weight_sharded": True, "zero": 1, "shard_ranks": shard if is_copied else 0}


def sharding_facts(job: Job, lacks: list[Lack]) -> dict[str, Any]:
    """Return the facts that say it; what torchtitan lacks is added to `lacks`."""
    plan = job.plan
    whole = {"replicate": 1, "shard": plan.dp}
    if plan.weight_sharded and plan.dp * plan.cp == 1:
        lacks.append(Lack("weight_sharded", True, False, "a single rank of dp and cp has no shards"))
        return whole
    if plan.weight_sharded:
        shard = plan.shard_ranks or plan.dp
        return {"replicate": plan.dp // shard, "shard": shard, "reshard": "default"}
    if plan.dp * plan.cp == 1:
        return whole
    if plan.zero == 2 and plan.pp == 1:
        return {**whole, "reshard": "never"}
    if plan.zero == 0 and plan.cp == 1 and (plan.ep == 1 or plan.tp % plan.ep == 0):
        return {"replicate": plan.dp, "shard": 1}
    if plan.zero == 1 and plan.cp == plan.pp == 1:
        lacks.append(Lack("zero", 1, 2, "torchtitan shards gradients with the optimizer"))
    else:
        reason = f"torchtitan shards weights with cp, experts or pipelines, so zero {plan.zero} is not there"
        lacks.append(Lack("weight_sharded", False, True, reason))
        if plan.zero != 1:
            lacks.append(Lack("zero", plan.zero, 1, reason))
    return whole
