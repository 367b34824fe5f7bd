"""Schedules for NPUs that drive few links at once: any search's, played within the limits, and a greedy one.

Sends of a schedule that is made without limits wait until both ends have an engine, and are moved late and
early in turn. A greedy search forward in time keeps to the limits from the start: its trees suit them. From
the fastest of these a search over the trees of all chunks goes on, within the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np
from dse.collectives.problem.problem import MIRRORED, Problem
from dse.collectives.problem.reachability import require_ways
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.fixed_algorithms import MOST_SENDS, fixed_algorithms
from dse.collectives.search.overlap import trees_from
from dse.collectives.search.reductions import halves, in_sequence, tightened, without_waste
from dse.collectives.search.synthesizers.base import Effort, Synthesis, Variant, search_variants

# The orders that are tried of a schedule: as many as this many sends allow, and not more of a small one.
_MOST_SENDS_PLACED = 400_000
_MOST_ROUNDS = 200
_MOST_SPEEDS = 4
_SENDS_OF_A_TRIAL = 75_000  # of trees, that are scheduled
_FORWARD: tuple[Variant, ...] = (("forward", "oldest"), ("forward", "random"), ("forward", "needed"))


def within_engines(
    problem: Problem, effort: Effort, made: Callable[[Problem, Effort], Synthesis]
) -> tuple[Synthesis, int | None]:
    """Return a schedule within the limits, and the time of an all-reduce with a barrier between its halves.

    `made` makes one of the problem, or of a half of it, with limits or without.

    Raises:
        InputError: as `made`, or there are too many sends to list.
    """
    deadline = effort.deadline
    free = made(replace(problem, graph=problem.graph.without_engines), effort)
    if not free.schedule.can_be_listed:
        raise InputError(
            f"max_sends and max_receives need a schedule send by send, and {len(free.schedule)} sends are "
            "too many; take a smaller network, or leave them out"
        )
    free_ps, name = free.schedule.time_ps, free.synthesizer
    candidates = {f"{name}, played within the limits": _played(free.schedule, problem, effort)}
    fixed: Mapping[str, Schedule] = {}
    if problem.graph.npus * problem.collective.chunks <= MOST_SENDS:
        fixed = fixed_algorithms(problem).schedules
    if fixed:
        fastest = min(fixed, key=lambda name: fixed[name].time_ps)
        candidates[f"fixed {fastest}"] = fixed[fastest]
    barrier_ps, trials = None, free.trials
    if problem.collective.kind == "all_reduce":
        parts = [made(half, replace(effort, enough_ps=0)) for half in halves(problem)]
        barrier = in_sequence(problem, *(part.schedule for part in parts))
        barrier_ps = barrier.time_ps
        candidates["two halves, overlapped within them"] = _played(barrier, problem, effort)
    elif _turned(problem).graph.copies.all():  # of sums: all switches add
        for words, links in _kept_links(problem):
            found = _greedy(problem, links, effort)
            trials += found.trials
            candidates[f"greedy within them{words}"] = found.schedule
            candidates[f"greedy{words}, moved late and early"] = _played(found.schedule, problem, effort)
    start = min(candidates.values(), key=lambda schedule: schedule.time_ps)
    if not deadline.is_over and start.time_ps > effort.enough_ps:
        drawn = trees_from(start, effort.until(deadline), effort.trials * _SENDS_OF_A_TRIAL)
        if drawn is not None:
            # Run backwards, a send to a switch that cuts through begins before its engine is looked at.
            placed = _played(drawn, problem, effort) if problem.cuts_through else drawn
            candidates["trees of all chunks within them"] = placed
    best = min(candidates, key=lambda words: candidates[words].time_ps)
    story = "; ".join(f"{words}: {schedule.time_ps} ps" for words, schedule in candidates.items())
    why = f"without limits {free_ps} ps, {free.why}; {story}"
    name = {"greedy": "greedy", "trees": "changes", "fixed": best}.get(best.split()[0], name)
    return Synthesis(candidates[best], name, trials, free.proven_ps, free.proof, why), barrier_ps


def _played(schedule: Schedule, problem: Problem, effort: Effort) -> Schedule:
    """Return the sends of a schedule within the limits of a problem."""
    rounds = min(_MOST_ROUNDS, _MOST_SENDS_PLACED // max(1, len(schedule)))
    columns = (schedule.link, schedule.chunk, schedule.start_ps, schedule.reduce)
    return tightened(Schedule.of(problem, *columns), rounds, effort.seed, effort.enough_ps)


def _kept_links(problem: Problem) -> Iterator[tuple[str, NDArray[np.int32]]]:
    """Yield all links, then fewer and fewer without slow ones, which take engines, while chunks have ways."""
    held_ps = problem.held_ps
    yield "", np.arange(len(held_ps), dtype=np.int32)
    for most_ps in np.unique(held_ps)[-2::-1][:_MOST_SPEEDS].tolist():
        is_slow = held_ps > most_ps
        try:
            require_ways(replace(problem, graph=problem.graph.without(is_slow)))
        except InputError:
            return
        yield f" without links slower than {most_ps} ps", np.flatnonzero(~is_slow).astype(np.int32)


def _turned(problem: Problem) -> Problem:
    """The problem that searches solve: of collectives that end in one place it is run backwards."""
    return problem.mirrored if problem.collective.kind in MIRRORED else problem


def _greedy(problem: Problem, links: NDArray[np.int32], effort: Effort) -> Synthesis:
    """Return the best of greedy runs over some links within the limits; of sums backwards."""
    unused = np.ones(len(problem.graph), dtype=np.bool_)
    unused[links] = False
    some = replace(problem, graph=problem.graph.without(unused))
    turned = _turned(some)
    found = search_variants(turned, effort, "greedy", _FORWARD)
    made = found.schedule
    if turned is not some:
        made = without_waste(made).mirrored(some)
    return replace(
        found, schedule=Schedule.of(problem, links[made.link], made.chunk, made.start_ps, made.reduce)
    )
