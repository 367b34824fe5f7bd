"""All-reduce from its two halves, one after the other or overlapped; schedules without sends in vain.

Messages in vain where some switches copy and others only pass messages on: each is left out whole.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace

from dse.base.errors import InputError
from dse.base.lazy import NDArray, np, solvers
from dse.collectives.files.messages import ordered_steps
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.kept import MOST_FITTED_SENDS, KeptSchedule


def halves(problem: Problem) -> tuple[Problem, Problem]:
    """Return the reduce-scatter and the all-gather of which an all-reduce is made."""
    collective = problem.collective
    scatter, gather = (collective.renamed(name) for name in ("reduce_scatter", "all_gather"))
    return replace(problem, collective=scatter), replace(problem, collective=gather)


def turned_links(problem: Problem) -> NDArray[np.int32] | None:
    """Per link the one of the same kind in the other direction; None if some link has none.

    None too if some switch copies and does not add, or adds and does not copy.
    """
    graph = problem.graph
    if graph.cannot_copy != graph.cannot_add:
        return None
    key = graph.sources.astype(np.int64) * graph.nodes + graph.destinations
    turned = graph.destinations.astype(np.int64) * graph.nodes + graph.sources
    # Of parallel links of a kind the n-th is turned into the n-th.
    order, of_turned = (np.lexsort((graph.kind_of, each)) for each in (key, turned))
    same_ends = np.array_equal(key[order], turned[of_turned])
    if not same_ends or not np.array_equal(graph.kind_of[order], graph.kind_of[of_turned]):
        return None
    links = np.empty(len(key), dtype=np.int32)
    links[of_turned] = order
    return links


def in_sequence(problem: Problem, first: Schedule, second: Schedule) -> Schedule:
    """Return the all-reduce that does a reduce-scatter and then, behind a barrier, an all-gather.

    Raises:
        InputError: it has too many sends to list, and is not kept as a base.
    """
    if isinstance(first, KeptSchedule) and type(first) is type(second):
        return first.then_gathered(problem, second)
    if len(first) + len(second) > MOST_FITTED_SENDS:
        raise InputError(
            f"the all-reduce has {len(first) + len(second)} sends, at most {MOST_FITTED_SENDS} are listed;"
            " synthesise reduce_scatter and all_gather by themselves, or with fewer chunks"
        )

    return Schedule.of(
        problem,
        np.concatenate([first.link, second.link]),
        np.concatenate([first.chunk, second.chunk]),
        np.concatenate([first.start_ps, second.start_ps + first.time_ps]),
        np.concatenate([first.reduce, second.reduce]),
    )


def backwards(problem: Problem, schedule: Schedule, turned: NDArray[np.int32]) -> Schedule:
    """Return a schedule run backwards on the same links, of which `turned` are those of the other direction.

    `problem` is the reduce-scatter of the all-gather that the schedule solves; no delivery may be redundant.
    """
    if isinstance(schedule, KeptSchedule):
        return schedule.mirrored(problem)
    on_turned = Schedule.of(problem.mirrored, turned[schedule.link], schedule.chunk, schedule.start_ps)
    return on_turned.mirrored(problem)


def without_waste(schedule: Schedule) -> Schedule:
    """Return the sends that bring a chunk first to where it is wanted or sent on; only without sums.

    Where no switch copies, every message stays, unless one brings an NPU what another one brings: searches
    make none in vain, and fixed algorithms some, past NPUs that are on the way of several.
    """
    graph = schedule.problem.graph
    switches = graph.nodes - graph.npus
    if isinstance(schedule, KeptSchedule):
        return schedule  # a tree from each NPU, not to be listed here
    if switches and len(graph.cannot_copy) == switches and not _brings_again(schedule):
        return schedule
    if graph.cannot_copy:
        kept = sends_needed(schedule)
    else:
        kept = solvers.deliveries_needed(
            schedule.problem.native, schedule.link, schedule.chunk, schedule.start_ps
        ).astype(bool)
    if kept.all():
        return schedule
    return Schedule(
        schedule.problem,
        schedule.link[kept],
        schedule.chunk[kept],
        schedule.start_ps[kept],
        schedule.reduce[kept],
    )


def _brings_again(schedule: Schedule) -> bool:
    """Whether an NPU gets a chunk more than once."""
    graph, collective = schedule.problem.graph, schedule.problem.collective
    to = graph.destinations[schedule.link].astype(np.int64)
    places = (to * collective.chunks + schedule.chunk)[to < graph.npus]
    return len(np.unique(places)) < len(places)


def tightened(schedule: Schedule, rounds: int = 0, seed: int = 0, enough_ps: int = 0) -> Schedule:
    """Return the same sends as early as the order on every link and causality allow; never later in all.

    A send waits for all that had brought its chunk to its sender before its start: sums that go up trees stay
    the same (`replay.compacted` is for schedules of anyone, whose partial sums may be exchanged).
    With `rounds` the order on the links may change too, by moving all sends late and early in turn. Where
    NPUs drive few links at once, sends wait for them too: a schedule that does not becomes later.
    """
    graph, problem = schedule.problem.graph, schedule.problem
    start = solvers.justified_starts(
        graph.sources,
        graph.destinations,
        problem.arrival_ps,
        problem.held_ps,
        schedule.link,
        schedule.chunk,
        schedule.start_ps,
        rounds,
        seed,
        enough_ps,
        graph.engines,
    )
    reduce = _marks(schedule, start) if problem.collective.is_reducing else schedule.reduce
    return Schedule.of(problem, schedule.link, schedule.chunk, start, reduce)


def _marks(schedule: Schedule, start_ps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the sends that add, at other starts: where nodes exchange sums, until that of the other has come.

    A send that leaves later has the full sum, as has every node that copies to one whose sum it got.
    """
    own, opposite = _opposites(schedule)
    marks: NDArray[np.bool_] = schedule.reduce.copy()
    marks[own] = start_ps[own] < start_ps[opposite] + schedule.problem.arrival_ps[schedule.link[opposite]]
    return marks


def tree_marks(schedule: Schedule) -> NDArray[np.bool_]:
    """Mark the sends that add as if no nodes exchanged sums: of two such the later one copies."""
    own, opposite = _opposites(schedule)
    both = schedule.reduce[own] & schedule.reduce[opposite]
    start_ps = schedule.start_ps
    later = (start_ps[own] > start_ps[opposite]) | ((start_ps[own] == start_ps[opposite]) & (own > opposite))
    marks: NDArray[np.bool_] = schedule.reduce.copy()
    marks[own[both & later]] = False
    return marks


def _opposites(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sends of sums, and of each the one of its chunk the other way, where either is the only one."""
    problem, graph = schedule.problem, schedule.problem.graph
    able, chunks = graph.copies & graph.adds, problem.collective.chunks
    sources, destinations = (
        ends[schedule.link].astype(np.int64) for ends in (graph.sources, graph.destinations)
    )
    rows = np.flatnonzero(able[sources] & able[destinations] & problem.collective.is_sum[schedule.chunk])
    sources, destinations, chunk = sources[rows], destinations[rows], schedule.chunk[rows]
    there = (sources * graph.nodes + destinations) * chunks + chunk
    back = (destinations * graph.nodes + sources) * chunks + chunk
    places, first, counts = np.unique(there, return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(places, back), max(len(places) - 1, 0))
    once = np.zeros(len(rows), dtype=np.bool_)
    once[first[counts == 1]] = True
    meets = once & (places[at] == back) & (counts[at] == 1) if len(rows) else once
    return rows[meets], rows[first[at[meets]]]


Place = tuple[int, int]
"""A node that keeps chunks, and a chunk."""


def sends_needed(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which sends belong to messages that bring a chunk first to where it is wanted or sent on.

    A message goes from a node that keeps chunks to the next one, through switches that pass on the oldest.
    """
    graph, collective = schedule.problem.graph, schedule.problem.collective
    sources, targets = graph.sources[schedule.link].tolist(), graph.destinations[schedule.link].tolist()
    chunks = schedule.chunk.tolist()
    sends_of: list[list[int]] = []  # by message
    origins: list[Place] = []
    message_of = [-1] * len(schedule)
    waiting: defaultdict[Place, deque[int]] = defaultdict(deque)
    bringer: dict[Place, int] = dict.fromkeys(_places(collective.holdings()), -1)
    for step in ordered_steps(schedule):
        send, chunk = step.send, chunks[step.send]
        target = targets[send], chunk
        if step.arrives:
            if target[0] in graph.cannot_copy:
                waiting[target].append(message_of[send])
            else:
                bringer.setdefault(target, message_of[send])
            continue
        source = sources[send], chunk
        if source[0] in graph.cannot_copy:
            message_of[send] = waiting[source].popleft()
            sends_of[message_of[send]].append(send)
        else:
            message_of[send] = len(sends_of)
            sends_of.append([send])
            origins.append(source)
    needed = np.zeros(len(schedule), bool)
    open_places = _places(collective.wants())
    while open_places:
        message = bringer.pop(open_places.pop(), -1)
        if message >= 0:
            needed[sends_of[message]] = True
            open_places.append(origins[message])
    return needed


def _places(pair: tuple[NDArray[np.int32], NDArray[np.int32]]) -> list[Place]:
    nodes, chunks = pair
    return list(zip(nodes.tolist(), chunks.tolist(), strict=True))
