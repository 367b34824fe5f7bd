"""Proofs of a dual certificate: boxes cover all plans below the best, and prices prove each box's bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.planner.problem import PlanProblem
from dse.planner.proofs.relaxed import SLACK, BestPlaces, Region, RelaxedWays
from dse.planner.space import micro_batches


def check_duals(problem: PlanProblem, cost_model: str, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong, line by line; nothing if the certificate is proven."""
    if cost_model != "strict":
        return [f"certificate.cost_model: {cost_model}, boxes prove bounds under strict only"]
    boxes, lines = certificate["boxes"], []
    claims = [np.inf if box["bound_ms"] is None else box["bound_ms"] for box in boxes]
    bound = min(certificate["best_ms"], *claims)
    if certificate["bound_ms"] != bound:
        lines.append(f"certificate.bound_ms: {certificate['bound_ms']}, the boxes prove {bound}")
    if not certificate["root_ms"] >= certificate["best_ms"] * (1 - SLACK):
        lines.append(f"certificate.root_ms: {certificate['root_ms']}, must be at least best_ms")
    places = BestPlaces(problem)
    allowed = micro_batches(problem)
    for i, box in enumerate(boxes):
        if box["batches"] not in allowed:
            lines.append(f"certificate.boxes[{i}].batches: {box['batches']} does not divide the global batch")
    for batches in allowed:
        mine = [(i, box) for i, box in enumerate(boxes) if box["batches"] == batches]
        ways = RelaxedWays(problem, places, batches)
        regions = [Region(*(float(box[name]) for name in Region._fields)) for _, box in mine]
        if not covers(regions, ways.root(certificate["root_ms"])):
            lines.append(
                f"certificate.boxes: those of {batches} micro-batches leave out plans below "
                f"{certificate['root_ms']} ms"
            )
        for (i, box), region in zip(mine, regions, strict=True):
            proven = ways.bound_ms(region, np.asarray(box["multipliers"], dtype=float))
            if not claims[i] <= proven * (1 + SLACK):
                lines.append(
                    f"certificate.boxes[{i}].bound_ms: {box['bound_ms']}, only {proven} can be proven"
                )
    return lines


def covers(regions: list[Region], whole: Region) -> bool:
    """Whether regions, which came from halving one, cover it."""
    if not regions:
        return False
    if any(
        mine.period_low <= whole.period_low
        and mine.tail_low <= whole.tail_low
        and mine.period_high >= whole.period_high * (1 - SLACK)
        and mine.tail_high >= whole.tail_high * (1 - SLACK)
        for mine in regions
    ):
        return True
    for low, high in (("period_low", "period_high"), ("tail_low", "tail_high")):
        bottom, top = getattr(whole, low), getattr(whole, high)
        for cut in sorted({getattr(region, low) for region in regions}):
            if not bottom < cut < top:
                continue
            below = [region for region in regions if getattr(region, high) <= cut]
            above = [region for region in regions if getattr(region, low) >= cut]
            if len(below) + len(above) == len(regions):
                return covers(below, whole._replace(**{high: cut})) and covers(
                    above, whole._replace(**{low: cut})
                )
    return False
