"""Proofs of a dual certificate: boxes cover all plans below the best, and prices prove each box's bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.planner.problem.problem import PlanProblem
from dse.planner.proofs.places import BestPlaces
from dse.planner.proofs.relaxed import RelaxedWays
from dse.planner.proofs.steps import Region
from dse.planner.proofs.tolerance import above, below
from dse.planner.search.space import micro_batches


def check_duals(problem: PlanProblem, cost_model: str, certificate: Mapping[str, Any]) -> list[str]:
    """Return what is wrong, line by line; nothing if the certificate is proven."""
    if cost_model != "strict":
        return [f"certificate.cost_model: {cost_model}, boxes prove bounds under strict only"]
    boxes, lines = certificate["boxes"], []
    claims = [np.inf if box["bound_ms"] is None else box["bound_ms"] for box in boxes]
    bound = min(certificate["best_ms"], *claims)
    if certificate["bound_ms"] != bound:
        lines.append(f"certificate.bound_ms: {certificate['bound_ms']}, the boxes prove {bound}")
    if not certificate["root_ms"] >= below(certificate["best_ms"]):
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
            if not claims[i] <= above(proven):
                lines.append(
                    f"certificate.boxes[{i}].bound_ms: {box['bound_ms']}, only {proven} can be proven"
                )
    return lines


def covers(regions: list[Region], whole: Region) -> bool:
    """Whether regions, which came from halving one, cover it."""
    open_parts = [(regions, whole)]
    while open_parts:
        inside, part = open_parts.pop()
        if any(_contains(region, part) for region in inside):
            continue
        halves = _halves(inside, part)
        if halves is None:
            return False
        open_parts += halves
    return True


def _contains(region: Region, part: Region) -> bool:
    return (
        region.period_low <= part.period_low
        and region.tail_low <= part.tail_low
        and region.period_high >= below(part.period_high)
        and region.tail_high >= below(part.tail_high)
    )


def _halves(regions: list[Region], part: Region) -> list[tuple[list[Region], Region]] | None:
    """Return two parts and the regions in each, by a cut that goes through no region; None if there is none.

    Cuts in the middle come first, so that halves are halved again few times.
    """
    for low, high in (("period_low", "period_high"), ("tail_low", "tail_high")):
        bottom, top = getattr(part, low), getattr(part, high)
        cuts = sorted({cut for region in regions if bottom < (cut := getattr(region, low)) < top})
        middle = len(cuts) // 2
        for _, cut in sorted((abs(i - middle), cut) for i, cut in enumerate(cuts)):
            lower = [region for region in regions if getattr(region, high) <= cut]
            upper = [region for region in regions if getattr(region, low) >= cut]
            # Counting would not do: a region without width at the cut is in both.
            if not any(getattr(region, low) < cut < getattr(region, high) for region in regions):
                return [(lower, part._replace(**{high: cut})), (upper, part._replace(**{low: cut}))]
    return None
