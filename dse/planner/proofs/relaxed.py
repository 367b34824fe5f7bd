"""The relaxed problem of the checker: covers of layers by stages at their best places, at prices of GPUs."""

from __future__ import annotations

import numpy as np

from dse.planner.problem.problem import PlanProblem
from dse.planner.proofs.places import BestPlaces
from dse.planner.proofs.stages import Matrix
from dse.planner.proofs.steps import Region, Steps
from dse.planner.proofs.ways import WayMaker


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
