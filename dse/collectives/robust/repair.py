"""A schedule after a failure: repaired, so that most of it stays, and one made from scratch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.bounds import best_bound
from dse.collectives.problem.collective import SEVERAL
from dse.collectives.problem.cut_through import NO_LATER_FAILURE
from dse.collectives.problem.engines import refuse_engines
from dse.collectives.problem.problem import MIRRORED, Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.robust.failures import (
    Failure,
    holdings_after,
    lost_chunks,
    only,
    problem_after,
    surviving,
    without_dead,
)
from dse.collectives.search.reductions import halves, in_sequence, tightened, without_waste
from dse.collectives.search.replay import compacted
from dse.collectives.search.synthesizers.base import Effort, Variant, is_spread_by_wants, limited, numbered

_SPREADING: tuple[Variant, ...] = (("arrival", "oldest"), ("arrival", "needed"), ("arrival", "rarest"))
_RELAYING: tuple[Variant, ...] = (("routes", "oldest"), ("arrival", "oldest"))
# From which share of its time on a schedule is searched again: first for nodes that are late, then for all.
_FREED_FROM = (0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0)
_KEPT_UNTIL = (0.9, 0.8, 0.7, 0.6, 0.5, 0.25)
SLACK = 0.05
"""The least change may take this much longer than the fastest repair that is found."""
_DEFAULT = Effort()


@dataclass(frozen=True)
class Repair:
    """The effect of a failure on a schedule. Times in ps.

    `repaired` and `anew` solve `problem`: what living NPUs want of chunks that are left. `kept` is the share
    of the sends before that `repaired` still has, link and chunk. `bound_ps` is of the graph that is left, 0
    for failures after the start. `lost` are chunks that only dead NPUs had.
    """

    before_ps: int
    problem: Problem
    repaired: Schedule
    anew: Schedule
    bound_ps: int
    kept: float
    lost: tuple[int, ...]
    repair_cpu_s: float
    anew_cpu_s: float


def repair(schedule: Schedule, failure: Failure, effort: Effort = _DEFAULT, *, slack: float = 0.0) -> Repair:
    """Return a schedule after a failure, repaired and made from scratch.

    Repairs keep all sends that do not depend on what failed, fill in what is missing by greedy searches from
    there, and search later parts again. The answer keeps the most of all that are tried, the one made from
    scratch included, and take at most `slack` longer than the fastest: 0.05 is 5 %. An all-reduce is repaired
    in its halves, which follow each other then.

    Raises:
        InputError: nothing leads from a chunk to an NPU that wants it, names both; of a collective with sums,
            an NPU that fails, or a failure after the start.
    """
    problem = schedule.problem
    check_repairable(problem, failure)
    if not problem.collective.is_reducing:
        return _repair(schedule, failure, effort, slack)
    if problem.collective.kind in MIRRORED:
        backwards = Schedule.of(problem.mirrored, schedule.link, schedule.chunk, schedule.backward_starts_ps)
        found = _repair(backwards, failure, effort, slack)
        repaired, anew = (made.mirrored(problem) for made in (found.repaired, found.anew))
        return replace(found, problem=problem, repaired=repaired, anew=anew)
    return _repair_all_reduce(schedule, failure, effort, slack)


def check_repairable(problem: Problem, failure: Failure) -> None:
    """Refuse a failure after which sums would lack what an NPU contributes, or that tears chunks in switches.

    Raises:
        InputError: several collectives; NPUs that drive few links at once; of one with sums, an
            NPU that fails, or a failure after the start;
            any such failure where switches cut through.
    """
    if problem.collective.kind == SEVERAL:
        raise InputError("several collectives at once are not repaired; let links fail for one of them alone")
    refuse_engines(problem, "failed_links or failed_npus")
    if problem.cuts_through and failure.at_ps:
        raise InputError(NO_LATER_FAILURE)
    if failure.at_ps and problem.graph.cannot_copy | problem.graph.cannot_add:
        raise InputError(
            "failed_at_us does not go with switches that cannot copy or add: messages in them would be lost; "
            "let it fail at 0"
        )
    if problem.collective.is_reducing and (failure.npus or failure.at_ps):
        raise InputError(
            f"{problem.collective.kind} has sums to which every NPU contributes; it can be repaired after "
            "failures of links at time 0 only"
        )


def _repair_all_reduce(schedule: Schedule, failure: Failure, effort: Effort, slack: float) -> Repair:
    problem = schedule.problem
    first, second = (
        replace(only(schedule, part), problem=half)
        for part, half in zip((schedule.reduce, ~schedule.reduce), halves(problem), strict=True)
    )
    offset = int(second.start_ps.min()) if len(second) else 0
    second = replace(second, start_ps=second.start_ps - offset)
    parts = [repair(part, failure, effort, slack=slack) for part in (first, second)]
    repaired, anew = (
        tightened(in_sequence(problem, *schedules))
        for schedules in zip(*((part.repaired, part.anew) for part in parts), strict=True)
    )
    return Repair(
        schedule.time_ps,
        problem,
        repaired,
        anew,
        best_bound(without_dead(problem, failure)).time_ps,
        _share_kept(schedule, repaired),
        (),
        sum(part.repair_cpu_s for part in parts),
        sum(part.anew_cpu_s for part in parts),
    )


def _repair(schedule: Schedule, failure: Failure, effort: Effort, slack: float) -> Repair:
    """As `repair`, of a collective without sums."""
    started = time.process_time()
    lost = lost_chunks(schedule, failure) if failure.npus else ()
    after = problem_after(schedule.problem, failure, lost)
    bound_ps = 0 if failure.at_ps else best_bound(without_dead(after, failure)).time_ps
    aimed = replace(effort, enough_ps=max(effort.enough_ps, bound_ps))
    facts = only(schedule, schedule.start_ps < failure.at_ps)
    known_s = time.process_time() - started

    started = time.process_time()
    anew = _filled(surviving(facts, failure), after, failure, aimed)
    anew_cpu_s = time.process_time() - started

    started = time.process_time()
    few = replace(aimed, trials=max(1, aimed.trials // 2))
    # What passes a switch that cannot copy is a message, not a chunk that is there to be sent on.
    candidates = [anew]
    if not after.graph.cannot_copy:
        candidates += _repairs(schedule, after, failure, few, anew.time_ps)
    fastest = min(made.time_ps for made in candidates)
    close = [made for made in candidates if made.time_ps <= fastest * (1 + slack)]
    best = max(close, key=lambda made: (_share_kept(schedule, made), -made.time_ps))
    return Repair(
        schedule.time_ps,
        after,
        best,
        anew,
        bound_ps,
        _share_kept(schedule, best),
        lost,
        known_s + time.process_time() - started,
        known_s + anew_cpu_s,
    )


def _repairs(
    schedule: Schedule, after: Problem, failure: Failure, effort: Effort, aim_ps: int
) -> Iterator[Schedule]:
    """Give repairs until one is close to `aim_ps`: each keeps less than the one before.

    First what nodes get late is searched again, from an ever earlier moment on; then what all get.
    """

    def tight(part: Schedule) -> Schedule:
        return part if failure.at_ps else compacted(part)

    graph = schedule.problem.graph
    whole = tight(surviving(schedule, failure))
    enough_ps = int(aim_ps * (1 + SLACK))
    made = _filled(whole, after, failure, effort)
    yield made
    late = np.zeros(graph.nodes, dtype=np.bool_)
    for share in _FREED_FROM:
        if made.time_ps <= enough_ps:
            return
        late[graph.destinations[made.link[made.end_ps > enough_ps]]] = True
        later = schedule.start_ps >= max(schedule.time_ps * share, failure.at_ps)
        freed = late[graph.destinations[schedule.link]] & later
        made = _filled(tight(surviving(schedule, failure, freed)), after, failure, effort)
        yield made
    for share in _KEPT_UNTIL:
        if made.time_ps <= enough_ps:
            return
        until = max(np.quantile(whole.start_ps, share) if len(whole) else 0, failure.at_ps)
        made = _filled(only(whole, whole.start_ps < until), after, failure, effort)
        yield made


def _filled(part: Schedule, after: Problem, failure: Failure, effort: Effort) -> Schedule:
    """Return a part of a schedule and what else brings everyone what it wants, over links that work."""
    there = holdings_after(part, failure)
    broken = without_dead(after, failure)
    free_ps = np.full(len(after.graph), failure.at_ps, dtype=np.int64)
    np.maximum.at(free_ps, part.link, part.start_ps + after.held_ps[part.link])
    resumed = broken.native.resumed(
        (there.node, there.chunk), there.at_ps, np.ascontiguousarray(free_ps[~failure.links])
    )
    variants = _SPREADING if is_spread_by_wants(broken) else _RELAYING
    with limited(effort) as cancellation:
        found, _ = solvers.search_restarts(
            resumed, numbered(variants), effort.seed, effort.trials, effort.enough_ps, cancellation, None
        )
    link, chunk, start = found.take_columns()
    numbers: NDArray[np.int32] = np.flatnonzero(~failure.links).astype(np.int32)
    made = Schedule.of(
        after,
        np.concatenate((part.link, numbers[link])),
        np.concatenate((part.chunk, chunk)),
        np.concatenate((part.start_ps, start)),
    )
    return without_waste(made)


def _share_kept(before: Schedule, after: Schedule) -> float:
    """The share of the sends before that are there after, by link, chunk and whether they add up."""
    if not len(before):
        return 1.0
    chunks = max(before.problem.collective.chunks, after.problem.collective.chunks)
    keys = [(made.link.astype(np.int64) * chunks + made.chunk) * 2 + made.reduce for made in (before, after)]
    return float(np.isin(keys[0], keys[1]).mean())
