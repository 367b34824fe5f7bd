"""All-reduces whose halves share the links: trees of their own, halves around each other, chunks of both."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from dse.base.lazy import NDArray, np, solvers
from dse.collectives.problem.collective import CUSTOM, Collective, Part
from dse.collectives.problem.problem import Problem
from dse.collectives.problem.schedule import Schedule
from dse.collectives.search.freed_chunks import search_sums
from dse.collectives.search.images import Images, images_of
from dse.collectives.search.negotiated import negotiated
from dse.collectives.search.reductions import halves, tightened, tree_marks
from dse.collectives.search.synthesizers.base import Effort, Variant, limited, numbered

_Search = Callable[[Problem, Schedule | None, Effort], Schedule | None]
_VARIANTS: tuple[Variant, ...] = (("arrival", "oldest"), ("arrival", "needed"), ("arrival", "random"))


# Of trees that sums go up and full sums go down, per trial: sends scheduled, and steps at most.
_SENDS_OF_A_TRIAL = 1_000_000
_STEPS_OF_A_TRIAL = 500
_SENDS_OF_IMAGES, _RUNS_OF_IMAGES = 250_000, 2  # of trees that others follow; of each group
_MOST_LINKS_OF_IMAGES = 500_000  # times NPUs: groups are found in less than a second
_SENDS_FOR_A_DRAW = 4  # times those of a schedule
# Sends placed while halves are fitted together, about a second for most, and limits on rounds within that.
_SENDS = 1_000_000
_FEWEST_ROUNDS, _MOST_ROUNDS = 2, 60
_PATIENCE = 20  # rounds without gain
_FRESH_STARTS = 4
# Gaps of links, and sends, looked at while chunks are freed, a second or two.
_GAPS = 10_000_000
_SENDS_WEIGHED = 20_000_000  # a step weighs all
_GAPS_PER_LINK = 16  # of a step: of some chunks, for sums more than once
_FEWEST_STEPS, _MOST_STEPS = 50, 2000


class Given(NamedTuple):
    """A schedule whose trees a search starts from, in orders by keys, and the sends of others that stay."""

    schedule: Schedule
    keys: tuple[NDArray[np.int64], ...]
    others: Schedule


class Overlaps:
    """Searches for one all-reduce with overlapped halves, with one seed: from several starts and nothing.

    What does not depend on the start is made once, and what a time limit has cut short is made again.
    """

    def __init__(self) -> None:
        self._fresh: dict[int, Schedule] = {}
        self._negotiated_from: Schedule | None = None
        self._searched: list[tuple[_Search, Schedule | None, Schedule | None]] = []

    def best(self, start: Schedule, effort: Effort) -> Schedule:
        """Return the fastest all-reduce that overlaps its halves, from `start` and from new ones."""
        if start.time_ps <= effort.enough_ps:
            return start
        ends = None if effort.time_limit_s is None else time.monotonic() + effort.time_limit_s
        best = tightened(start)

        def is_late() -> bool:
            cancelled = effort.cancellation is not None and effort.cancellation.is_cancelled
            return cancelled or (ends is not None and time.monotonic() >= ends)

        def is_over() -> bool:
            return best.time_ps <= effort.enough_ps or is_late()

        if not is_late():
            best = _faster(best, self._once(_trees_of_all, best.problem, None, effort, is_late))
        best = _faster(best, _improved(tightened(start), effort, is_over))
        for number in range(max(1, min(_FRESH_STARTS, _SENDS // 2 // max(1, len(start))))):
            if not is_over():
                best = _faster(best, self._from_nothing(start.problem, number, effort, is_over, is_late))
        searches: list[tuple[_Search, Callable[[], Schedule | None]]] = [
            (_chunks_made_again, lambda: best),  # what the others have found
            (_chunks_made_again, lambda: None),
            # Once, as it only has to be faster; last, as others cannot take sums apart that NPUs exchange.
            (_negotiated, lambda: self._negotiated_from or best),
            (_exchanged, lambda: best),
            (_images_kept, lambda: None),
            (_exchanged, lambda: best),  # again from what images keep, or roots that exchange sums already
        ]
        for search, first in searches:
            if not is_over():
                if search is _negotiated:
                    self._negotiated_from = first()
                left_s = None if ends is None else max(0.0, ends - time.monotonic())
                limited_effort = replace(effort, time_limit_s=left_s)
                best = _faster(best, self._once(search, best.problem, first(), limited_effort, is_late))
        return best

    def _from_nothing(
        self,
        problem: Problem,
        number: int,
        effort: Effort,
        is_over: Callable[[], bool],
        is_late: Callable[[], bool],
    ) -> Schedule:
        if number in self._fresh:
            return self._fresh[number]
        made = _fresh(problem, effort.seed * _FRESH_STARTS + number)
        found = _improved(made, effort, is_over)
        if not is_late():
            self._fresh[number] = found
        return found

    def _once(
        self,
        search: _Search,
        problem: Problem,
        start: Schedule | None,
        effort: Effort,
        is_late: Callable[[], bool],
    ) -> Schedule | None:
        for known, first, found in self._searched:
            if known is search and first is start:
                return found
        found = search(problem, start, effort)
        if not is_late():
            self._searched.append((search, start, found))
        return found


def _faster(best: Schedule, other: Schedule | None) -> Schedule:
    return best if other is None or other.time_ps >= best.time_ps else other


def _improved(start: Schedule, effort: Effort, is_over: Callable[[], bool]) -> Schedule:
    """Return `start` with its halves made again around each other."""
    rounds = max(_FEWEST_ROUNDS, min(_MOST_ROUNDS, _SENDS // max(1, len(start))))
    return overlapped(start, rounds, effort.seed, is_over, effort.enough_ps)


def _trees_of_all(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:  # noqa: ARG001
    return trees_drawn(problem, effort)


def trees_drawn(
    problem: Problem,
    effort: Effort,
    given: Given | None = None,
    *,
    exchange: bool = False,
    work: int | None = None,
    images: Images | None = None,
) -> Schedule | None:
    """Return an all-reduce, or parts, of a tree per chunk with a root of its own, also through switches.

    With `images` also an all-gather, of which one chunk of each orbit has a tree. Trees that are given are
    the first ones, and the sends of others stay. With `exchange` roots exchange sums with a neighbour. `work`
    is how many sends are scheduled. None means that there are too many sends, or no time.
    """
    collective = problem.collective
    sends, ends = collective.tree_sends, None
    if collective.parts:
        ends = collective.sources(), collective.wants()
    if images is not None:
        sends = sends * len(images.made) // collective.chunks
        ends = images.of_made(collective.sources()), images.of_made(collective.wants())
    steps = effort.trials * _STEPS_OF_A_TRIAL if work is None else work // max(1, sends)
    work = effort.trials * _SENDS_OF_A_TRIAL if work is None else work
    trees = None
    if given is not None:
        made, others = given.schedule, given.others
        marks = tree_marks(made).astype(np.uint8)
        trees = (made.link, made.chunk, marks, list(given.keys), others.link, others.start_ps)
    if sends * _SENDS_FOR_A_DRAW > work:
        return None
    with limited(effort) as cancellation:
        (link, chunk, start_ps), sums, _ = solvers.search_sum_trees(
            (problem if collective.parts else halves(problem)[1]).native,
            work,
            effort.seed,
            steps,
            effort.enough_ps,
            cancellation,
            ends,
            trees,
            exchange,
            [] if images is None else images.lanes.tolist(),
        )
    if not len(link):
        return None
    found = Schedule.of(problem, link, chunk, start_ps, np.arange(len(link)) < sums)
    return found if images is None else images.expanded(found)


def trees_from(start: Schedule, effort: Effort, work: int) -> Schedule | None:
    """Return the fastest schedule found of a tree per chunk, from those of `start`, of any collective.

    `work` is how many sends are scheduled. None if there are custom conditions, or too many sends.
    """
    problem, collective = start.problem, start.problem.collective
    own = problem
    if not collective.parts and collective.name != CUSTOM:
        part = Part(collective.name, collective.members, collective.chunks_per_npu, collective.root)
        own = replace(problem, collective=Collective(CUSTOM, collective.npus, parts=(part,)))
    if not own.collective.parts:
        return None
    nothing = np.empty(0, dtype=np.int32)
    given = Given(start, (start.start_ps,), Schedule.of(own, nothing, nothing, np.empty(0, dtype=np.int64)))
    found = trees_drawn(own, effort, given, work=work)
    if found is None:
        return None
    return Schedule.of(problem, found.link, found.chunk, found.start_ps, found.reduce)


def _images_kept(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:  # noqa: ARG001
    return images_kept(problem, effort)


def images_kept(problem: Problem, effort: Effort) -> Schedule | None:
    """Return the fastest schedule found that images keep: one chunk of each orbit has a tree of its own.

    Of an all-reduce or an all-gather; None where nothing is found, or there are too many links or sends.
    """
    if problem.graph.npus * len(problem.graph) > _MOST_LINKS_OF_IMAGES:
        return None
    has_sums = problem.collective.is_reducing and not problem.graph.cannot_add
    may_exchange = (False, True) if has_sums else (False,)
    runs = list(product(range(_RUNS_OF_IMAGES), images_of(problem), may_exchange))
    best, deadline = None, effort.deadline
    work = effort.trials * _SENDS_OF_IMAGES // max(1, len(runs))
    for number, images, exchange in runs:
        if deadline.is_over or (best is not None and best.time_ps <= effort.enough_ps):
            break
        own = replace(effort.until(deadline), seed=effort.seed * _RUNS_OF_IMAGES + number)
        found = trees_drawn(problem, own, exchange=exchange, work=work, images=images)
        best = found if best is None else _faster(best, found)
    return best


def _exchanged(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:
    """Return an all-reduce of which roots exchange sums with a neighbour, from the trees of `start`."""
    if start is None:
        return None
    link, start_ps = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    given = Given(start, (start.start_ps,), Schedule.of(problem, link, link, start_ps))
    return trees_drawn(problem, effort, given, exchange=True)


def _negotiated(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:
    return None if start is None else negotiated(problem, start, effort)


def _chunks_made_again(problem: Problem, start: Schedule | None, effort: Effort) -> Schedule | None:
    """Return an all-reduce of which chunks were freed, sums and copies, and put into the gaps again.

    From `start`, whose sums go up trees, or from nothing. None means that switches or NPUs relay, or there
    are too many links or sends.
    """
    sends = problem.collective.tree_sends
    gaps = _GAPS // (_GAPS_PER_LINK * max(1, len(problem.graph)))
    steps = min(_MOST_STEPS, gaps, _SENDS_WEIGHED // max(1, sends))
    made = problem.collective.chunks if start is None else 0
    if problem.collective.parts or steps - made < _FEWEST_STEPS:
        return None
    return tightened(search_sums(problem, start, effort, steps))


def overlapped(
    schedule: Schedule, rounds: int, seed: int, is_over: Callable[[], bool], enough_ps: int = 0
) -> Schedule:
    """Return an all-reduce at least as fast, whose all-gather is made around its sums, and the other way.

    Each round fixes the sends of sums, as early as they can be, and searches for the copies from there: a
    chunk may be copied once its root has the full sum, on a link that has no more sums to carry. Run
    backwards copies are sums and sums copies, so the next round makes the other half. A round that is no
    slower is kept. Sums must go up trees, as in all schedules made of two halves, and be compacted.
    """
    now = schedule
    backwards, failed = False, 0
    for number in range(rounds):
        if is_over() or failed > _PATIENCE:
            break
        found = _copies_made_again(now, seed * rounds + number, enough_ps)
        failed = 0 if found.time_ps < now.time_ps else failed + 1
        if found.time_ps <= now.time_ps:
            now = found
        now, backwards = turned(now), not backwards
    return turned(now) if backwards else now


def turned(schedule: Schedule) -> Schedule:
    """Return an all-reduce by trees run backwards on turned links: copies become sums, and sums copies."""
    problem = schedule.problem
    other = replace(problem, graph=problem.graph.transposed)
    starts = schedule.backward_starts_ps
    return tightened(Schedule.of(other, schedule.link, schedule.chunk, starts, ~schedule.reduce))


def _fresh(problem: Problem, seed: int) -> Schedule:
    """Return an all-reduce whose halves are both made by greedy searches, the second around the first."""
    other = replace(problem, graph=problem.graph.transposed)
    roots, chunks = halves(problem)[1].collective.holdings()
    now = np.zeros(len(chunks), dtype=np.int64)
    columns = _copies(other, roots, now, np.zeros(len(problem.graph), dtype=np.int64), seed, 0)
    return _copies_made_again(turned(Schedule.of(other, *columns)), seed, 0)


def _copies_made_again(schedule: Schedule, seed: int, enough_ps: int) -> Schedule:
    """Return the same sums with other copies of what they make."""
    problem, sums = schedule.problem, schedule.reduce
    link, chunk, start_ps = schedule.link[sums], schedule.chunk[sums], schedule.start_ps[sums]
    roots, ready_ps = _full_sums(problem, link, chunk, schedule.end_ps[sums])
    free_from_ps = np.zeros(len(problem.graph), dtype=np.int64)
    np.maximum.at(free_from_ps, link, start_ps + problem.held_ps[link])
    more = _copies(problem, roots, ready_ps, free_from_ps, seed, enough_ps)
    return Schedule.of(
        problem,
        np.concatenate([link, more[0]]),
        np.concatenate([chunk, more[1]]),
        np.concatenate([start_ps, more[2]]),
        np.arange(len(link) + len(more[0])) < len(link),
    )


def _copies(
    problem: Problem,
    roots: NDArray[np.int32],
    ready_ps: NDArray[np.int64],
    free_from_ps: NDArray[np.int64],
    seed: int,
    enough_ps: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Columns of sends that copy each chunk from its root, where it is from `ready_ps` on."""
    chunks = np.arange(problem.collective.chunks, dtype=np.int32)
    state = halves(problem)[1].native.resumed((roots, chunks), ready_ps, free_from_ps)
    found, _ = solvers.search_restarts(
        state, numbered(_VARIANTS), seed, len(_VARIANTS), enough_ps, None, lambda *_: None
    )
    link, chunk, start_ps = found.take_columns()
    return link, chunk, start_ps


def _full_sums(
    problem: Problem, link: NDArray[np.int32], chunk: NDArray[np.int32], end_ps: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Per chunk its root, the NPU that contributes and sends no sum, and when it has them all."""
    graph, chunks = problem.graph, problem.collective.chunks
    has_sent = np.ones((chunks, graph.nodes), dtype=bool)
    npus, contributed = problem.collective.contributions()
    has_sent[contributed, npus] = False
    has_sent[chunk, graph.sources[link]] = True
    roots = np.argmin(has_sent, axis=1).astype(np.int32)
    ready_ps = np.zeros(chunks, dtype=np.int64)
    np.maximum.at(ready_ps, chunk, np.where(graph.destinations[link] == roots[chunk], end_ps, 0))
    return roots, ready_ps
