"""Why a plan costs what it costs: what the step's time is made of, what bounds it, what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dse.base.texts import counted
from dse.planner.problem.steps import way_text
from dse.planner.throughput import duration

_LEAST_SHARE = 0.01
"""Of the pace of a pipeline; what is less is left out."""
_ONE_OF_A_KIND = ("exact", "anytime")


def parts_ms(best: Mapping[str, Any], cost_model: str) -> dict[str, float]:
    """Return what the cost of a plan is made of, in ms; the parts sum to it.

    `steady` is the slowest stage working for all micro-batches but one, `passage` one micro-batch through all
    stages, `gradients` reduction and update after the last one, `links` what compat adds for sending.
    """
    if cost_model == "step":
        return dict(best["parts_ms"])
    stages = [stage for stage in best["stages"] if stage["execution_ms"] is not None]
    is_strict = cost_model == "strict"
    periods = [period_ms(stage, cost_model) for stage in stages]
    after = [(stage["reduction_ms"], stage["update_ms"]) for stage in stages]
    parts = {
        "steady": (best["batches"] - 1) * max(periods),
        "passage": sum(periods),
        "links": 0.0 if is_strict else sum(stage["link_ms"] for stage in stages),
        "gap": best["gap_ms"],
        "batch generator": best["batch_generator_ms"],
    }
    # Compat takes the slowest reduction and the slowest update, each on its own.
    slowest = max(map(sum, after)) if is_strict else sum(max(terms) for terms in zip(*after, strict=True))
    return {**parts, "gradients": slowest}


def period_ms(stage: Mapping[str, Any], cost_model: str) -> float:
    """Return what a micro-batch takes of a stage; under strict with what it sends."""
    return float(stage["execution_ms"] + (stage["link_ms"] if cost_model == "strict" else 0.0))


def reasons(data: Mapping[str, Any]) -> list[str]:
    """Return sentences on the best plan of a document, without its full stop; empty if there is none."""
    best = data["best"]
    if best is None:
        return []
    cost_ms = best["cost_ms"]
    parts = parts_ms(best, data["cost_model"])
    largest = sorted(parts.items(), key=lambda item: -item[1])
    found = [
        "the step is made of "
        + ", ".join(f"{name} {100 * ms / cost_ms:.1f} %" for name, ms in largest if ms > 0.0005 * cost_ms)
    ]
    stages = [stage for stage in best["stages"] if stage["execution_ms"] is not None]
    if len(stages) > 1:
        periods = [period_ms(stage, data["cost_model"]) for stage in stages]
        most, mean = max(periods), sum(periods) / len(stages)
        slowest = stages[periods.index(most)]
        found.append(
            f"stage {slowest['stage']} sets the pace with {duration(most)} per micro-batch; the mean of the "
            f"stages is {duration(mean)}, {100 * mean / most:.0f} % of it"
        )
    fullest = _fullest(stages)
    if fullest is not None:
        stage, type_, share = fullest
        found.append(f"the fullest GPU, {type_} of stage {stage}, holds {100 * share:.0f} % of its memory")
    hourly, each = best.get("price_per_hour"), best.get("price_per_step")
    if hourly is not None and each is not None:
        found.append(f"the cluster costs {hourly:.2f} an hour, {1000 * each:.3f} for 1,000 steps")
    found += _shared_uplinks(best["stages"]) if data["cost_model"] == "strict" else []
    found += _beside(data)
    return found


def _shared_uplinks(stages: list[dict[str, Any]]) -> list[str]:
    """The time that messages on a shared uplink may add to the pace, which the price leaves out."""
    most_ms, number, replicas = 0.0, 0, 1
    for stage, following in pairwise(stages):
        on_host = {host["host"]: host["gpus"] for host in stage["hosts"]}
        if len({*on_host, *(host["host"] for host in following["hosts"])}) == 1:
            continue  # messages stay in the node
        sharing = max(max(1, gpus // stage["tp"]) for gpus in on_host.values())
        longer_ms = (sharing - 1) * stage["link_ms"]
        if longer_ms > most_ms:
            most_ms, number, replicas = longer_ms, stage["stage"], sharing
    pace_ms = max(period_ms(stage, "strict") for stage in stages)
    if most_ms <= _LEAST_SHARE * pace_ms:
        return []
    return [
        f"messages of {replicas} replicas of stage {number} share a node's uplink, which the price leaves "
        f"out: up to {duration(most_ms)} more per micro-batch if they cannot hide; simulate=1 says what it is"
    ]


def _fullest(stages: list[dict[str, Any]]) -> tuple[int, str, float] | None:
    shares = [
        (stage["stage"], type_, own["bytes"] / own["capacity_bytes"])
        for stage in stages
        for type_, own in stage["memory"].items()
    ]
    return max(shares, key=lambda entry: entry[2], default=None)


def _beside(data: Mapping[str, Any]) -> list[str]:
    """How far the next plan of the ranking is, and the next with other stages.

    Exact and anytime keep one plan for each type order, number of stages and of micro-batches, but for sweeps
    under step: others may lie between.
    """
    best, found = data["best"], []
    others = data["ranking"][1:]
    if others:
        longer = 100 * (others[0]["cost_ms"] / best["cost_ms"] - 1)
        is_one = data["planner"] in _ONE_OF_A_KIND and data["cost_model"] != "step"
        kind = ", of other types, stages or micro-batches," if is_one else ""
        found.append(f"the next plan{kind} takes {longer:.2f} % longer")
    own = (types_of_stages(best), best["groups"])
    reshaped = [plan for plan in others if (types_of_stages(plan), plan["groups"]) != own]
    if reshaped and reshaped[0] is not others[0]:
        longer = 100 * (reshaped[0]["cost_ms"] / best["cost_ms"] - 1)
        found.append(f"the next with other stages, {groups_text(reshaped[0])}, takes {longer:.2f} % longer")
    return found


def batches_text(number: int) -> str:
    """Return how many micro-batches: 1 micro-batch, 2 micro-batches."""
    return counted(number, "micro-batch", "micro-batches")


def types_of_stages(plan: Mapping[str, Any]) -> list[str]:
    """Return the types in the order of the stages; files of older releases have only that of the ranks."""
    return list(plan.get("stage_types") or plan["types"])


def groups_text(plan: Mapping[str, Any]) -> str:
    """Return the stages of a plan in short: 16 GPUs as 4x4 | 16 as 8x2; with ways, 16 as 4x4 (ZeRO-3)."""
    ways = [f" ({way_text(way)})" for way in plan.get("ways", ())] or [""] * len(plan["groups"])
    stages = zip(plan["groups"], plan["strategies"], ways, strict=True)
    texts = [f"{gpus} as {dp}x{tp}{way}" for gpus, (dp, tp), way in stages]
    short, index = [], 0
    while index < len(texts):
        count = 1
        while index + count < len(texts) and texts[index + count] == texts[index]:
            count += 1
        short.append(texts[index] if count == 1 else f"{count} times {texts[index]}")
        index += count
    return " | ".join(short)
