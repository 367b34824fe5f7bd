"""Synthesis: the best schedule found for a problem, with lower bounds and fixed algorithms."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dse.base.cancellation import NEVER, Deadline
from dse.base.errors import InputError
from dse.collectives.bounds import Bound, best_bound, lower_bounds
from dse.collectives.problem.collective import SEVERAL
from dse.collectives.problem.problem import MIRRORED, Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.fixed_algorithms import fixed_algorithms
from dse.collectives.search.kept import KeptSchedule
from dse.collectives.search.overlap import Overlaps
from dse.collectives.search.reductions import backwards, halves, in_sequence, turned_links, without_waste
from dse.collectives.search.several import several
from dse.collectives.search.synthesizers.base import (
    DEFAULT_EFFORT,
    Effort,
    Progress,
    Synthesis,
    Synthesizer,
    limited,
)
from dse.collectives.search.synthesizers.registry import make_synthesizer
from dse.collectives.search.within_engines import within_engines

_SHARE_OF_BOUNDS = 1 / 3
_SECONDS_OF_FIXED = 1.0  # for the comparison, whatever the search has left; small problems take less


@dataclass(frozen=True)
class Result:
    """A schedule, all bounds on its time, and the times of fixed algorithms on the same links, in ps.

    `bounds` has one that the search proved as `search`, but not of an all-reduce, where it proves less.
    `bounds_are_cut` says that the time limit ended the search for them, so that stronger ones may exist.
    `barrier_ps` is the time of an all-reduce whose all-gather starts when its reduce-scatter is done; None
    for other collectives. `alone_ps` has the times of several collectives, each without the others.
    `left_out` says why a fixed algorithm has no time. `cpu_s` is that of the search and its bounds.
    """

    schedule: Schedule
    synthesizer: str
    why: str
    trials: int
    seed: int
    cpu_s: float
    bounds: tuple[Bound, ...]
    barrier_ps: int | None = None
    fixed: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    bounds_are_cut: bool = False
    alone_ps: tuple[int, ...] = ()

    @property
    def time_ps(self) -> int:
        """When the last chunk has arrived."""
        return self.schedule.time_ps

    @property
    def bound(self) -> Bound | None:
        """The strongest bound, the first of equal ones; None if nothing has to be sent."""
        return max(self.bounds, key=lambda bound: bound.time_ps, default=None)

    @property
    def bound_ps(self) -> int:
        """The time of the strongest bound."""
        return self.bound.time_ps if self.bound else 0

    @property
    def gap(self) -> float:
        """By what share of the bound the schedule takes longer than it."""
        return self.time_ps / self.bound_ps - 1 if self.bound_ps else 0.0

    @property
    def is_optimal(self) -> bool:
        """Whether no schedule is faster: this one takes as long as a bound."""
        return self.time_ps <= self.bound_ps

    @property
    def best_fixed(self) -> str | None:
        """The name of the fastest fixed algorithm, None without any."""
        return min(self.fixed, key=self.fixed.__getitem__, default=None)


def synthesize(
    problem: Problem,
    synthesizer: str | Synthesizer = "auto",
    effort: Effort = DEFAULT_EFFORT,
    *,
    compare: bool = True,
    dimensions: tuple[int, ...] | None = None,
    overlaps: Overlaps | None = None,
) -> Result:
    """Return the best schedule that a synthesizer finds for a problem.

    Collectives that end in one place are solved backwards on turned links; an all-reduce is a reduce-scatter
    and an all-gather, fitted together. `compare` also plays the fixed algorithms, hierarchical ones along
    `dimensions` (by default those of the numbering). Of a time limit the bounds take a third at most. No
    fixed algorithm is begun when it is over, and a second more has passed. `overlaps` are the searches that
    other synthesizers have made for the same problem, with the same trials and seed.

    Raises:
        InputError: no such synthesizer, it cannot take the problem, there is no way for a chunk, or a chunk
            takes no time on a link.
    """
    started = time.process_time()
    problem.check_takes_time()
    maker = make_synthesizer(synthesizer)
    deadline = effort.deadline
    for_bounds = deadline.part(_SHARE_OF_BOUNDS)
    bounds = lower_bounds(problem, for_bounds)
    are_cut = for_bounds.is_over
    strongest = max((bound.time_ps for bound in bounds), default=0)
    effort.report(Progress(None, 0, strongest))
    aimed = replace(effort.until(deadline), enough_ps=max(effort.enough_ps, strongest))
    made, barrier_ps, alone_ps = made_by(problem, maker, aimed, overlaps)
    # What a search proves of an all-reduce holds for trees only: two NPUs that exchange sums may be faster.
    if made.proven_ps > strongest and problem.collective.kind != "all_reduce":
        bounds = (*bounds, Bound("search", made.proven_ps, (), made.proof))
    cpu_s = time.process_time() - started
    found = (made.schedule, made.synthesizer, made.why, made.trials, effort.seed, cpu_s, bounds, barrier_ps)
    result = Result(*found, bounds_are_cut=are_cut, alone_ps=alone_ps)
    return with_fixed(result, dimensions, deadline) if compare else result


def with_fixed(
    result: Result, dimensions: tuple[int, ...] | None = None, deadline: Deadline = NEVER
) -> Result:
    """Return a result with the times of the fixed algorithms on its links; see `synthesize`."""
    played = fixed_algorithms(result.schedule.problem, dimensions, deadline.at_least(_SECONDS_OF_FIXED))
    times_ps = {name: schedule.time_ps for name, schedule in played.schedules.items()}
    return replace(result, fixed=times_ps, left_out=played.left_out)


class Made(NamedTuple):
    """A schedule, the time of an all-reduce with a barrier, and the times of several collectives alone."""

    synthesis: Synthesis
    barrier_ps: int | None = None
    alone_ps: tuple[int, ...] = ()


def made_by(problem: Problem, maker: Synthesizer, effort: Effort, overlaps: Overlaps | None = None) -> Made:
    """Return what a synthesizer makes of a problem; see `synthesize`.

    Raises:
        InputError: it cannot take the problem, or there is no way for a chunk.
    """
    if problem.collective.kind == SEVERAL:
        synthesis, alone_ps = several(problem, effort, lambda one, own: made_by(one, maker, own).synthesis)
        return Made(synthesis, alone_ps=alone_ps)
    if problem.graph.has_engines:
        return Made(*within_engines(problem, effort, lambda one, own: made_by(one, maker, own).synthesis))
    if problem.collective.kind == "all_reduce":
        return Made(*_all_reduce(problem, maker, effort, overlaps or Overlaps()))
    return Made(_one_way(problem, maker, effort))


def _one_way(problem: Problem, maker: Synthesizer, effort: Effort) -> Synthesis:
    """Return the synthesis of a problem that is no all-reduce, backwards where it must be."""
    turned = problem.mirrored if problem.collective.kind in MIRRORED else problem
    obstacle = maker.refusal(turned)
    if obstacle:
        raise InputError(
            f"synthesizer is {maker.name}, but {obstacle}; allowed here: synthesizer=auto, which takes all"
        )
    made = maker.synthesize(turned, effort)
    if turned is problem:
        return made
    return replace(made, schedule=without_waste(made.schedule).mirrored(problem))


def _all_reduce(
    problem: Problem, maker: Synthesizer, effort: Effort, overlaps: Overlaps
) -> tuple[Synthesis, int]:
    """Return the synthesis of an all-reduce and its time with a barrier between the halves."""
    first, second = halves(problem)
    share = None if effort.time_limit_s is None else effort.time_limit_s / 3
    gathered = _half(second, maker, effort, share)
    tidy = without_waste(gathered.schedule)
    turned = turned_links(problem)
    if turned is None:
        scattered = _half(first, maker, effort, share)
    else:
        scattered = replace(gathered, schedule=backwards(first, tidy, turned))
    barrier = in_sequence(problem, scattered.schedule, tidy)
    if not barrier.can_be_listed:
        return _kept(barrier, gathered, replace(effort, time_limit_s=share)), barrier.time_ps
    best = overlaps.best(barrier, replace(effort, time_limit_s=share))
    trials = gathered.trials + (scattered.trials if turned is None else 0)
    effort.report(Progress(best.time_ps, trials))
    made = Synthesis(best, gathered.synthesizer, trials, why=f"halves overlapped; {gathered.why}")
    whole = None
    if best.time_ps > effort.enough_ps:
        limited = replace(effort, time_limit_s=share)
        whole = maker.whole_all_reduce(problem, limited, best, overlaps.best)
    return (replace(whole, trials=trials + whole.trials) if whole else made), barrier.time_ps


def _kept(barrier: Schedule, gathered: Synthesis, effort: Effort) -> Synthesis:
    """Return the synthesis of an all-reduce whose sends cannot be listed, from that with a barrier."""
    best = barrier
    if isinstance(barrier, KeptSchedule) and barrier.time_ps > effort.enough_ps:
        with contextlib.suppress(InputError), limited(effort) as cancellation:
            best = barrier.overlapped(cancellation)
    story = "halves overlapped in waves" if best is not barrier else "one half after the other"
    return replace(gathered, schedule=best, why=f"{story}; {gathered.why}")


def _half(half: Problem, maker: Synthesizer, effort: Effort, time_limit_s: float | None) -> Synthesis:
    deadline = Deadline.after(time_limit_s, effort.cancellation)
    enough_ps = best_bound(half, deadline.part(_SHARE_OF_BOUNDS)).time_ps
    silent = DEFAULT_EFFORT.report
    return _one_way(half, maker, replace(effort.until(deadline), enough_ps=enough_ps, report=silent))
