"""Several collectives at once: one schedule of them all, never slower than one after the other.

Collectives of one priority are scheduled together, around those of higher priority, whose sends stay. Each is
made alone first. The sends of all of them, one after the other and then as early as links allow, are a
schedule; a search over the trees of all chunks looks for a faster one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dse.base.cancellation import Deadline
from dse.base.errors import InputError
from dse.base.lazy import np
from dse.collectives.bounds import best_bound
from dse.collectives.problem.collective import CUSTOM, Collective, Part
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.overlap import Given, trees_drawn
from dse.collectives.search.reductions import tightened
from dse.collectives.search.synthesizers.base import DEFAULT_EFFORT, Effort, Progress, Synthesis

_SHARE_ALONE = 0.5  # of a time limit
_LEAST_SECONDS = 0.1  # for one collective, as without any schedule of it there is none of all
_SHARE_OF_BOUNDS = 1 / 3  # of the time for one collective


def several(
    problem: Problem, effort: Effort, alone: Callable[[Problem, Effort], Synthesis]
) -> tuple[Synthesis, tuple[int, ...]]:
    """Return a schedule of all parts of a collective, and the time that each takes alone.

    `alone` makes the schedule of a part on the network without the others; where translations of the links
    lead from one part to another, once. The search over trees looks for a faster one of each part too.

    Raises:
        InputError: a part cannot be made, or its sends cannot be listed.
    """
    parts, npus = problem.collective.parts, problem.graph.npus
    deadline = effort.deadline
    for_alone = deadline.part(_SHARE_ALONE)
    made: list[Synthesis] = []
    schedules: list[Schedule] = []
    known: dict[tuple[object, ...], int] = {}  # by what translations keep of a part
    for place, part in enumerate(parts):
        own = replace(problem, collective=Collective.of_part(part, npus))
        like = known.setdefault(_kept(problem, part), place)
        if like != place:
            schedules.append(_moved(schedules[like], _parts_of(problem, [place])))
            continue
        share = for_alone.part(1 / (len(parts) - place)).at_least(_LEAST_SECONDS)
        aimed = _aimed(own, effort, share)
        made.append(alone(own, aimed))
        if not made[-1].schedule.can_be_listed:
            raise InputError(
                f"several collectives are listed send by send, and {part.name} has {len(made[-1].schedule)}"
            )
        only = _none(_parts_of(problem, [place]))
        schedules.append(_with_more(only, [0], [made[-1].schedule], aimed.until(share)))
    now = _none(problem)
    for priority in sorted({part.priority for part in parts}, reverse=True):
        places = [place for place, part in enumerate(parts) if part.priority == priority]
        if len(places) == 1 and not len(now):
            now = _united(now, schedules[places[0]], places)
            continue
        aimed = _aimed(_parts_of(problem, places), effort, deadline)
        now = _with_more(now, places, schedules, aimed)
    trials = sum(one.trials for one in made)
    effort.report(Progress(now.time_ps, trials))
    alone_ps = tuple(schedule.time_ps for schedule in schedules)
    why = f"{len(parts)} collectives, one after the other {sum(alone_ps)} ps, together {now.time_ps} ps"
    return Synthesis(now, made[0].synthesizer, trials, why=why), alone_ps


def _kept(problem: Problem, part: Part) -> tuple[object, ...]:
    """A key of a part, which those share that translations of the links lead to each other."""
    group, members = problem.graph.translations, part.group
    if group is not None:
        nodes, first = np.array(members, dtype=np.int64), np.full(len(members), members[0], dtype=np.int64)
        members = tuple(group.add(nodes, first, sign=-1).tolist())
    return (part.name, members, part.chunks_per_npu, part.root)


def _moved(schedule: Schedule, problem: Problem) -> Schedule:
    """Return the schedule of one part for another, to which a translation of the links leads."""
    graph, group = problem.graph, problem.graph.translations
    (one,), (other,) = schedule.problem.collective.parts, problem.collective.parts
    link = schedule.link
    if group is not None:
        zero = np.zeros(1, dtype=np.int64)
        shift = group.add(zero + other.group[0], zero + one.group[0], sign=-1)
        generator = np.empty(len(graph), dtype=np.int64)
        generator[group.link_of] = np.arange(group.link_of.shape[1])
        nodes = group.add(graph.sources[link].astype(np.int64), shift)
        link = group.link_of[nodes, generator[link]]
    return Schedule.of(problem, link, schedule.chunk, schedule.start_ps, schedule.reduce)


def _parts_of(problem: Problem, places: Sequence[int]) -> Problem:
    """The problem of some of the parts only."""
    parts = tuple(problem.collective.parts[place] for place in places)
    return replace(problem, collective=Collective(CUSTOM, problem.graph.npus, parts=parts))


def _aimed(own: Problem, effort: Effort, share: Deadline) -> Effort:
    enough_ps = best_bound(own, share.part(_SHARE_OF_BOUNDS)).time_ps
    return replace(effort.until(share), enough_ps=enough_ps, report=DEFAULT_EFFORT.report)


def _none(problem: Problem) -> Schedule:
    nothing = np.empty(0, dtype=np.int32)
    return Schedule.of(problem, nothing, nothing, np.empty(0, dtype=np.int64))


def _with_more(
    others: Schedule, places: Sequence[int], alone: Sequence[Schedule], effort: Effort
) -> Schedule:
    """Return the sends of others, and around them those of the parts at some places.

    One after the other never takes longer than what is there and each of the parts alone, and to start as
    early as the order on every link allows never makes it slower.
    """
    own = _parts_of(others.problem, places)
    joined = [alone[place] for place in places]
    total_ps = sum(schedule.time_ps for schedule in joined)
    until_ps, offsets = others.time_ps, [0]
    for schedule in joined:
        offsets.append(offsets[-1] + schedule.time_ps)
    starts = [until_ps + at + schedule.start_ps for at, schedule in zip(offsets, joined, strict=False)]
    together = [schedule.start_ps for schedule in joined]
    # Each as slow as if all ended at once.
    evenly = [s.start_ps * (total_ps / s.time_ps if s.time_ps else 1.0) for s in joined]
    firsts = zip(own.collective.firsts, joined, strict=True)
    in_turn = Schedule(
        own,
        np.concatenate([schedule.link for schedule in joined]),
        np.concatenate([schedule.chunk + np.int32(first) for first, schedule in firsts]),
        np.concatenate(starts),
        np.concatenate([schedule.reduce for schedule in joined]),
    )
    keys = tuple(np.concatenate(each).astype(np.int64) for each in (starts, together, evenly))
    one_by_one = _united(others, in_turn, places)
    candidates = [tightened(one_by_one), one_by_one]
    drawn = None if effort.deadline.is_over else trees_drawn(own, effort, Given(in_turn, keys, others))
    if drawn is not None:
        candidates.append(tightened(_united(others, drawn, places)))
        if not effort.deadline.is_over and any(part.name == "all_reduce" for part in own.collective.parts):
            given = Given(drawn, (drawn.start_ps,), others)
            exchanged = trees_drawn(own, effort, given, exchange=True)
            if exchanged is not None:
                candidates.append(tightened(_united(others, exchanged, places)))

    before_ps = _ends_ps(others)

    def ends_ps(schedule: Schedule) -> tuple[int, int, int]:
        times_ps = _ends_ps(schedule)
        ends = [times_ps[place] for place in places]
        delays = (now - was for now, was in zip(times_ps, before_ps, strict=True) if was)
        return max(delays, default=0), max(ends), sum(ends)

    return min(candidates, key=ends_ps)


def _ends_ps(schedule: Schedule) -> tuple[int, ...]:
    return schedule.problem.collective.times_of_parts(schedule.chunk, schedule.end_ps)


def _united(others: Schedule, more: Schedule, places: Sequence[int]) -> Schedule:
    """Return the sends of both; chunks of `more` are those of the parts at some places."""
    problem = others.problem
    firsts, counts = problem.collective.firsts, [part.collective.chunks for part in problem.collective.parts]
    numbers = np.concatenate(
        [np.arange(firsts[place], firsts[place] + counts[place], dtype=np.int32) for place in places]
    )
    return Schedule.of(
        problem,
        np.concatenate([others.link, more.link]),
        np.concatenate([others.chunk, numbers[more.chunk]]),
        np.concatenate([others.start_ps, more.start_ps]),
        np.concatenate([others.reduce, more.reduce]),
    )
