"""Problems without sums as programs of 0/1 variables: which chunk starts on which link at which step."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from dse.base.linear_programs import Program
from dse.collectives.problem.problem import Problem

NEVER = 1 << 60
MOST_POINTS = 2000


class Move(NamedTuple):
    """A send that a variable stands for; `reduces`: what it carries is added to what is there."""

    link: int
    chunk: int
    start: int
    reduces: bool = False


@dataclass(frozen=True)
class Grid:
    """Links with times in whole steps of `unit_ps`, and the steps at which sends can start, in order."""

    unit_ps: int
    nodes: int
    ends: list[tuple[int, int]]
    arrival: list[int]
    held: list[int]
    points: list[int]

    @classmethod
    def of(cls, problem: Problem, unit_ps: int, until_ps: int, rounding: Literal["down", "up"]) -> Grid:
        """Round all times of links to whole steps; those that are whole stay as they are.

        A send that starts as early as it can starts when another arrives or frees the link: at a sum of such
        times, of which those until `until_ps` are the points.

        Raises:
            OverflowError: there are more than `MOST_POINTS`.
        """
        add = unit_ps - 1 if rounding == "up" else 0
        graph = problem.graph
        ends = list(zip(graph.sources.tolist(), graph.destinations.tolist(), strict=True))
        arrival, held = (
            [(time + add) // unit_ps for time in column.tolist()]
            for column in (problem.arrival_ps, problem.held_ps)
        )
        points = sums({*arrival, *held} - {0}, until_ps // unit_ps)
        return cls(unit_ps, graph.nodes, ends, arrival, held, points)

    def between(self, first: int, last: int) -> list[int]:
        """The points from `first` to `last`, both included."""
        return self.points[bisect_left(self.points, first) : bisect_right(self.points, last)]

    def distances(self, starts: Iterable[int], *, backwards: bool = False) -> list[int]:
        """Steps from the nearest of some nodes to each node; backwards: from each node to the nearest."""
        links: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        for (source, destination), arrival in zip(self.ends, self.arrival, strict=True):
            if backwards:
                links[destination].append((source, arrival))
            else:
                links[source].append((destination, arrival))
        found = [NEVER] * self.nodes
        queue = [(0, node) for node in starts]
        for _, node in queue:
            found[node] = 0
        while queue:
            steps, node = heapq.heappop(queue)
            if steps > found[node]:
                continue
            for other, arrival in links[node]:
                if steps + arrival < found[other]:
                    found[other] = steps + arrival
                    heapq.heappush(queue, (steps + arrival, other))
        return found


@dataclass(frozen=True)
class Places:
    """Per chunk which nodes have it at first and which others want it."""

    holders: list[set[int]]
    wanting: list[set[int]]

    @classmethod
    def of(cls, problem: Problem) -> Places:
        """Return the places of a problem without sums."""
        chunks = problem.collective.chunks
        holders: list[set[int]] = [set() for _ in range(chunks)]
        wanting: list[set[int]] = [set() for _ in range(chunks)]
        for node, chunk in zip(*(column.tolist() for column in problem.collective.holdings()), strict=True):
            holders[chunk].add(node)
        for node, chunk in zip(*(column.tolist() for column in problem.collective.wants()), strict=True):
            if node not in holders[chunk]:
                wanting[chunk].add(node)
        return cls(holders, wanting)

    def alike(self) -> list[list[int]]:
        """Groups of chunks with the same holders and the same destinations: they may change places."""
        groups: dict[tuple[frozenset[int], frozenset[int]], list[int]] = {}
        for chunk, (holders, wanting) in enumerate(zip(self.holders, self.wanting, strict=True)):
            if wanting:
                groups.setdefault((frozenset(holders), frozenset(wanting)), []).append(chunk)
        return [group for group in groups.values() if len(group) > 1]


def sums(lengths: set[int], until: int) -> list[int]:
    """All sums of lengths, each any number of times, up to `until`, in order."""
    reached = {0}
    for length in sorted(lengths, reverse=True):
        new = reached
        while new:
            new = {step + length for step in new if step + length <= until} - reached
            reached |= new
            if len(reached) > MOST_POINTS:
                raise OverflowError("too many points of time")
    return sorted(reached)


def windows(grid: Grid, places: Places, steps: int) -> dict[tuple[int, int], list[int]]:
    """Per (link, chunk) the points at which a send can start: from when to when it is of use."""
    found = {}
    for chunk, (holders, wanting) in enumerate(zip(places.holders, places.wanting, strict=True)):
        if not wanting:
            continue
        earliest, left = grid.distances(holders), grid.distances(wanting, backwards=True)
        for link, (source, destination) in enumerate(grid.ends):
            if destination in holders:
                continue
            starts = grid.between(earliest[source], steps - grid.arrival[link] - left[destination])
            if starts:
                found[link, chunk] = starts
    return found


class Counter(NamedTuple):
    """Variables that say whether something has happened by each of some steps, in order."""

    steps: list[int]
    columns: list[int]

    def by(self, step: int) -> int | None:
        """The variable that says whether it has happened by a step; None if it cannot have."""
        number = bisect_right(self.steps, step)
        return self.columns[number - 1] if number else None


class Timed:
    """A program whose solutions are schedules of at most `steps` steps on a grid.

    `moves` says which send a variable stands for. A place is (node, chunk).
    """

    def __init__(self, grid: Grid, steps: int) -> None:
        self.grid, self.steps = grid, steps
        self.program = Program()
        self.moves: dict[int, Move] = {}
        self._has: dict[tuple[int, int], Counter] = {}
        self._starts: dict[int, dict[int, list[int]]] = {}  # link: step: variables

    def add_send(self, move: Move) -> int:
        """Add a variable for a send."""
        column = self.program.add()
        self.moves[column] = move
        self._starts.setdefault(move.link, {}).setdefault(move.start, []).append(column)
        return column

    def add_counter(self, events: Mapping[int, list[int]]) -> Counter:
        """Add variables that count what of `events` (variables by step) has happened so far, 1 at most."""
        counter = Counter(sorted(events), [])
        for step in counter.steps:
            column = self.program.add(whole=False)
            terms = [(column, 1.0), *((event, -1.0) for event in events[step])]
            if counter.columns:
                terms.append((counter.columns[-1], -1.0))
            self.program.row(terms, 0, 0)
            counter.columns.append(column)
        return counter

    def add_copies(
        self,
        starts_of: Mapping[tuple[int, int], list[int]],
        sources: Mapping[tuple[int, int], Mapping[int, int]],
    ) -> None:
        """Add sends that copy a chunk, per (link, chunk), and who has what by when.

        `sources` are variables by step that put a chunk at a place in another way.
        """
        events: dict[tuple[int, int], dict[int, list[int]]] = {}
        for place, columns in sources.items():
            events[place] = {step: [column] for step, column in columns.items()}
        copies = []
        for (link, chunk), starts in starts_of.items():
            source, destination = self.grid.ends[link]
            arrivals = events.setdefault((destination, chunk), {})
            for start in starts:
                column = self.add_send(Move(link, chunk, start))
                arrivals.setdefault(start + self.grid.arrival[link], []).append(column)
                copies.append((column, (source, chunk), start))
        for place, columns_at in events.items():
            self._has[place] = self.add_counter(columns_at)
        for column, place, start in copies:
            self.follow(column, self.has(place, start))

    def has(self, place: tuple[int, int], step: int) -> int | None:
        """The variable that says whether a place has its chunk by a step; None if it cannot."""
        counter = self._has.get(place)
        return counter.by(step) if counter else None

    def follow(self, column: int, condition: int | None) -> None:
        """Allow a variable only where another is 1; None means never."""
        if condition is None:
            self.program.upper[column] = 0
        else:
            self.program.row([(column, 1), (condition, -1)], most=0)

    def demand(self, place: tuple[int, int]) -> bool:
        """Demand that a place has its chunk at the end; return whether it can."""
        column = self.has(place, self.steps)
        if column is not None:
            self.program.lower[column] = 1
        return column is not None

    def one_at_a_time(self) -> None:
        """Let every link carry one chunk at a time."""
        for link, starts in self._starts.items():
            held = self.grid.held[link]
            if held == 0:
                continue
            steps = sorted(starts)
            for number, step in enumerate(steps):
                since = bisect_left(steps, step - held + 1)
                window = [column for start in steps[since : number + 1] for column in starts[start]]
                if len(window) > 1:
                    self.program.row(((column, 1) for column in window), most=1)

    def in_order(self, node: int, chunks: list[int]) -> None:
        """Let a node get chunks that may change places in this order."""
        for chunk, later in pairwise(chunks):
            counter = self._has[node, later]
            for step, column in zip(counter.steps, counter.columns, strict=True):
                self.follow(column, self.has((node, chunk), step))


def timed(grid: Grid, places: Places, steps: int) -> Timed | None:
    """Return the program of all schedules of a problem without sums; None if one of its chunks comes late.

    A place gets a chunk once, a link carries one at a time, and a sender has what it sends.
    Chunks at their first holders are there from step 0 on.
    """
    model = Timed(grid, steps)
    starts_of = windows(grid, places, steps)
    at_first: dict[tuple[int, int], dict[int, int]] = {}
    for chunk, (holders, wanting) in enumerate(zip(places.holders, places.wanting, strict=True)):
        for node in holders if wanting else ():
            at_first[node, chunk] = {0: model.program.add(whole=False, lower=1)}
    model.add_copies(starts_of, at_first)
    model.one_at_a_time()
    for chunk, wanting in enumerate(places.wanting):
        if not all(model.demand((node, chunk)) for node in wanting):
            return None
    for group in places.alike():
        model.in_order(min(places.wanting[group[0]]), group)
    return model
