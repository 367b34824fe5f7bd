"""Optimal schedules of small problems, with a certificate: times refuted by the engine, then by HiGHS."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd

from dse.base.lazy import is_installed, np
from dse.base.linear_programs import load_highspy
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.reductions import tightened, without_waste
from dse.collectives.search.synthesizers.base import Effort, Overlap, Progress, Synthesis, Synthesizer
from dse.collectives.search.synthesizers.decided import Decided
from dse.collectives.search.synthesizers.time_indexed import Grid, Places, Timed, timed, windows
from dse.collectives.search.synthesizers.tree_sums import timed_all_reduce

SECONDS = 60.0
_MOST_PAIRS = 1 << 26  # of chunks on links, a byte each
_SHARE = 0.6  # of the time, for the search in the engine; 0/1 programs have the rest
_MOST_SENDS = 60_000  # variables; more take minutes at the root already
_FIRST = 4  # programs from the bound up, before the range is halved
_STEPS = (96, 64, 48, 32, 24, 16, 12, 8)  # of coarser grids, tried in turn until the variables fit

Models = Callable[[Grid, int], "Timed | None"]


@dataclass
class _Search:
    """The best schedule so far, the bound proven, and what is left of the time."""

    problem: Problem
    effort: Effort
    ends: float
    best: Schedule
    proven_ps: int = 0
    proof: str = ""
    programs: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the best is optimal, or the search has to end."""
        cancellation = self.effort.cancellation
        cancelled = cancellation is not None and cancellation.is_cancelled
        late = time.monotonic() >= self.ends
        return late or cancelled or self.best.time_ps <= max(self.effort.enough_ps, self.proven_ps)

    def ask(self, models: Models, grid: Grid, steps: int) -> Schedule | bool | None:
        """Return a schedule of so many steps, False if there is none, None if that stays open."""
        model = models(grid, steps)
        if model is None:
            return False
        self.programs += 1
        left = self.ends - time.monotonic()
        answer, values = model.program.solve(left, self.effort.seed, self.effort.cancellation)
        self.effort.report(Progress(self.best.time_ps, self.programs))
        if values is None:
            return False if answer == "infeasible" else None
        moves = [
            model.moves[column] for column in np.flatnonzero(values > 0.5).tolist() if column in model.moves
        ]
        return Schedule.of(
            self.problem,
            np.array([move.link for move in moves], dtype=np.int32),
            np.array([move.chunk for move in moves], dtype=np.int32),
            np.array([move.start for move in moves], dtype=np.int64) * grid.unit_ps,
            np.array([move.reduces for move in moves], dtype=np.bool_),
        )

    def decide(self) -> None:
        """Look for the least time in the engine, for a share of the time that is left."""
        left_s = _SHARE * max(0.01, self.ends - time.monotonic())
        found = Decided(
            self.problem, self.best, self.effort.enough_ps, replace(self.effort, time_limit_s=left_s)
        )
        found.climb()
        self.programs += found.asked
        self.best = found.best
        if found.refuted_ps:
            self.proven_ps = found.least_ps
            self.proof = f"no schedule takes {found.refuted_ps} ps: a search through all of them ends without"

    def keep(self, schedule: Schedule) -> None:
        """Keep a schedule, made as tight as it can be, if it is faster."""
        tidy = schedule if self.problem.collective.is_reducing else without_waste(schedule)
        tight = tightened(tidy)
        if tight.time_ps < self.best.time_ps:
            self.best = tight

    def refute(self, steps: int, until: int, grid: Grid, what: str) -> None:
        """Note that there is no schedule of so many steps, and so none of less than `until`."""
        self.proven_ps = max(self.proven_ps, until * grid.unit_ps)
        self.proof = f"no schedule takes {steps * grid.unit_ps} ps{what}: its 0/1 program is infeasible"

    def climb(self, models: Models, grid: Grid) -> None:
        """Find the first point at which a schedule can end, on a grid that all times fit.

        First the points from the bound up, as they are refuted quickly, then by halves.
        """
        ends = grid.between(
            -(-max(self.effort.enough_ps, self.proven_ps) // grid.unit_ps), self.best.time_ps // grid.unit_ps
        )
        low, high = 0, len(ends) - 1  # the best ends at a point too
        while not self.is_done and low < high:
            middle = low if self.programs < _FIRST else (low + high) // 2
            found = self.ask(models, grid, ends[middle])
            if found is None:
                return
            if isinstance(found, Schedule):
                self.keep(found)
                high = middle
            else:
                low = middle + 1
                self.refute(ends[middle], ends[low], grid, "")

    def climb_coarsely(self, models: Models, unit_ps: int) -> None:
        """Prove a bound with times rounded down, then look for schedules with times rounded up."""
        until_ps = self.best.time_ps
        down, up = (Grid.of(self.problem, unit_ps, until_ps, rounding) for rounding in ("down", "up"))
        steps = -(-max(self.effort.enough_ps, self.proven_ps) // unit_ps)
        ends = self.ends
        self.ends = time.monotonic() + (ends - time.monotonic()) / 2
        while not self.is_done and self.ask(models, down, steps) is False:
            self.refute(steps, steps + 1, down, ", even with links somewhat faster")
            steps += 1
        self.ends = ends
        while not self.is_done and steps * unit_ps < self.best.time_ps:
            found = self.ask(models, up, steps)
            if isinstance(found, Schedule):
                self.keep(found)
                return
            steps += 1


class Exact(Synthesizer):
    """An optimum with certificate, or the best known and a bound at the time limit.

    Starts from `start`, by default what restarts of greedy searches find. Ends after `SECONDS` without a
    limit. An all-reduce taken whole is optimal among those by trees, which send each NPU's sum once.
    """

    name = "exact"

    def __init__(self, start: Schedule | None = None) -> None:
        self.start = start

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem is too large for it; see Synthesizer.obstacle."""
        places = problem.graph.npus * problem.collective.chunks
        if len(problem.graph) * problem.collective.chunks > _MOST_SENDS:
            return f"{places} places of chunks on {len(problem.graph)} links are too many for an exact search"
        return None

    def synthesize(self, problem: Problem, effort: Effort) -> Synthesis:
        """Return an optimal schedule if the time suffices; see Synthesizer.synthesize."""
        from dse.collectives.search.synthesizers.restarts import Restarts

        limit_s = SECONDS if effort.time_limit_s is None else effort.time_limit_s
        ends = time.monotonic() + limit_s
        trials = 0
        start = self.start
        if start is None:
            made = Restarts().synthesize(problem, replace(effort, time_limit_s=limit_s / 2))
            start, trials = made.schedule, made.trials
        search = _Search(problem, effort, ends, start)
        if not search.is_done and len(problem.graph) * problem.collective.chunks**2 <= _MOST_PAIRS:
            search.decide()
        if search.is_done or not is_installed("highspy"):
            return _synthesis(search, trials)
        places = Places.of(problem)

        def size(grid: Grid, steps: int) -> int:
            return sum(len(starts) for starts in windows(grid, places, steps).values())

        _run(search, lambda grid, steps: timed(grid, places, steps), size)
        return _synthesis(search, trials)

    def whole_all_reduce(
        self,
        problem: Problem,
        effort: Effort,
        best: Schedule,
        overlap: Overlap | None = None,  # noqa: ARG002 (sums and copies are one program)
    ) -> Synthesis | None:
        """Return an optimal all-reduce by trees if the time suffices; see Synthesizer.whole_all_reduce."""
        chunks = problem.collective.chunks
        if problem.graph.nodes > problem.graph.npus:
            return None
        limit_s = SECONDS if effort.time_limit_s is None else effort.time_limit_s
        search = _Search(problem, effort, time.monotonic() + limit_s, best)
        if not search.is_done:
            load_highspy()

            def size(grid: Grid, steps: int) -> int:
                return sum(2 * chunks * len(grid.between(0, steps - arrival)) for arrival in grid.arrival)

            _run(search, lambda grid, steps: timed_all_reduce(grid, chunks, steps), size)
        return _synthesis(search, 0, ", with sums by trees")


def _run(search: _Search, models: Models, size: Callable[[Grid, int], int]) -> None:
    """Search on the grid of all times if the program is small enough, on a coarser one otherwise."""
    problem, best_ps = search.problem, search.best.time_ps
    unit_ps = gcd(*problem.distinct_times.ravel().tolist())
    with contextlib.suppress(OverflowError):
        grid = Grid.of(problem, unit_ps, best_ps, "down")
        if size(grid, best_ps // unit_ps) <= _MOST_SENDS:
            search.climb(models, grid)
            return
    for steps in _STEPS:
        coarse_ps = -(-best_ps // steps)
        if size(Grid.of(problem, coarse_ps, best_ps, "down"), steps) <= _MOST_SENDS:
            search.climb_coarsely(models, coarse_ps)
            return


def _synthesis(search: _Search, trials: int, among: str = "") -> Synthesis:
    best_ps = search.best.time_ps
    if search.proven_ps > search.effort.enough_ps:
        why = f"{search.programs} times were asked for{among}; {search.proof}"
    elif best_ps <= search.effort.enough_ps:
        why = "a bound is met"
    else:
        why = f"{search.programs} times were asked for{among}, none decided in time"
    return Synthesis(
        search.best, "exact", trials + search.programs, search.proven_ps, search.proof + among, why
    )
