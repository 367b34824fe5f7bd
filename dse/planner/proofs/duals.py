"""Proofs of a dual certificate: boxes cover all plans below the best, and prices prove each box's bound.

The relaxed problem of the checker: covers of layers by stages at their best places, at prices of GPUs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.planner.problem.problem import PlanProblem
from dse.planner.proofs.stages import Matrix
from dse.planner.proofs.steps import Region, Steps, above, below
from dse.planner.proofs.ways import BestPlaces, WayMaker
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


class RelaxedWays:
    """All ways to run a stage with a number of micro-batches, relaxed."""

    def __init__(self, problem: PlanProblem, places: BestPlaces, batches: int) -> None:
        self._batches, self._layers = batches, problem.layers
        ways, kinds = WayMaker(problem, places, batches).ways()
        self._types = types = len(problem.type_order)
        self._type = np.array([*range(types), *range(types), types])
        self._most = min(batches, problem.layers)
        self._use = np.array([way.use for way in ways]).reshape(len(ways), types)
        self._steps = Steps(ways, kinds, problem.layers, self._most)
        self._generators = batches * min(places.rule.batch_generator_ms(each) for each in problem.type_order)

    def root(self, best_ms: float) -> Region:
        """Return the region of all plans that cost at most `best_ms`."""
        room = best_ms - self._steps.least_gap_ms
        return Region(0.0, room / self._batches, 0.0, room)

    def bound_ms(self, region: Region, multipliers: Matrix) -> float:
        """Return a bound on the plans of a region at prices of all GPUs of each type.

        A stage with k stages after it has k + 1 micro-batches in flight, at most all; one before a stage of
        another type sends over the best link between types.
        """
        before = np.full((self._types + 1, self._layers + 1), np.inf)
        before[:, 0] = 0.0
        cover = np.inf
        for in_flight, least in self._steps.levels(region, self._use @ multipliers, len(self._type)):
            if in_flight == self._most:
                self._repeat(least, before)
            if in_flight == 1:
                cover = float(self._one_more(least, before, self._layers, self._layers + 1).min())
                break
            # So many stages less one follow, each with a layer at least.
            ends = self._layers - in_flight + 2
            before[:, :ends] = self._before(self._one_more(least, before, 0, ends))
            before[:, 0] = 0.0
        fixed = (self._batches - 1) * region.period_low + region.tail_low + self._generators
        return fixed + cover - float(multipliers.sum())

    def _one_more(self, least: Matrix, before: Matrix, first_end: int, ends: int) -> Matrix:
        """Return by kind the cheapest covers of [0, end) whose last stage is of that kind.

        `least` is by kind, layers less one, and end; ends are those of [first_end, ends).
        """
        types, longest = self._types, least.shape[1]
        padded = np.concatenate([np.full((types + 1, longest), np.inf), before], axis=1)
        by_type, by_end = padded.strides
        shape = (types + 1, longest, ends - first_end)
        origin = padded[:, longest + first_end - 1 :]
        starts = np.lib.stride_tricks.as_strided(origin, shape, (by_type, -by_end, by_end))
        covers = least[:, :, first_end:ends]
        pure = (covers[: 2 * types].reshape(2, types, *shape[1:]) + starts[:types]).min(axis=2)
        mixed = (covers[2 * types] + starts[types]).min(axis=0)
        return np.concatenate([pure.reshape(2 * types, -1), mixed[None, :]])

    def _before(self, cheapest: Matrix) -> Matrix:
        """Return the cheapest stages before one of each type, and before any."""
        types, rows = self._types, []
        for next_ in range(types):
            allowed = [next_, *(types + other for other in range(types) if other != next_), 2 * types]
            rows.append(cheapest[allowed].min(axis=0))
        return np.array([*rows, cheapest.min(axis=0)])

    def _repeat(self, least: Matrix, before: Matrix) -> None:
        """Put the cheapest covers of [0, end) by any number of stages with these times into `before`.

        As many stages follow as micro-batches may be in flight.
        """
        for end in range(1, self._layers - self._most + 1):
            before[:, end] = self._before(self._one_more(least, before, end, end + 1))[:, 0]
