"""A lower bound on how fast a chunk spreads from NPU to NPU, where no switch copies.

An NPU that has a chunk passes it on by messages, one after the other on each of its links; a switch sends a
message on to one place. So each NPU gets the chunk by a message of its own. Let an NPU with the chunk have
brought m(t) messages to others by t, at most, over the links of the NPU that can bring most. If the first
j - 1 NPUs have the chunk from t_1, t_2, … on, j have it no sooner than 1 + Σ m(t - t_i) is j (the postal
model, Bar-Noy and Kipnis 1994).

Let the NPUs be parted. A message from part to part gives the chunk to one NPU, and from there it spreads
inside of the part as above, by messages inside of parts alone. After x such messages 1 + x parts have the
chunk at most, and so no more NPUs than there are in the largest 1 + x parts. Such messages are those of all
NPUs that have it, or, in a bound of its own, of those with links out of their part, once the part is reached.

Of k chunks the last one leaves the root after k - 1 others have begun to, and spreads from then on. And k
times as many messages are needed, in all and from part to part, of NPUs that have any chunk.

Where an NPU sends over m links at once, its messages begin no sooner than m at 0, m when the first links can
be free again, and so on.

In an all-gather every chunk spreads like that, and in an all-reduce what each NPU contributes.

Backwards in time the same says how long sums of some NPUs take to get to one.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dse.collectives.bounds.takers import time_with_takers
from dse.collectives.bounds.view import Bound, Strongest, View

MOST_NPUS = 1024
_MOST_STEPS = 2_000_000  # of ways past switches, from every link
_MOST_PARTS = 12  # ways to part NPUs


def spread_bound(view: View) -> Iterator[Bound]:
    """The strongest over parts that links of up to a time join; nothing where not every NPU gets all."""
    collective, graph = view.problem.collective, view.problem.graph
    if not view.needs.everyone_gets_the_same or collective.npus != len(collective.members):
        return
    spreads = Spreads.of(view)
    if spreads is None:
        return
    has_root = collective.kind == "broadcast"
    chunks = collective.chunks if has_root else 1
    begins = spreads.start_of(collective.root_npu, chunks)
    strongest, found = Strongest("spread"), None
    for part in spreads.parts():
        times, count = spreads.times_to(graph.npus, part), len(set(part))
        if len(times) < graph.npus:
            continue
        if strongest.raised_to(begins + times[-1]):
            text = (
                f"a chunk begins to leave an NPU at {begins} ps or later. Each NPU gets it"
                f" by a message of its own, and each of {count} clusters by one from another"
            )
            found = Bound("spread", strongest.time_ps, (), text)
        need = chunks * ((count if count > 1 else graph.npus) - 1)
        if has_root and strongest.raised_to(spreads.time_of(need, times, part, chunks)):
            between = f"{count} clusters" if count > 1 else "NPUs"
            text = (
                f"{need} messages between {between} are needed, and few NPUs have something to send at first"
            )
            found = Bound("spread", strongest.time_ps, (), text)
        own = part if count > 1 else range(graph.npus)
        if has_root and strongest.raised_to(spreads.time_with_takers(own, collective.root_npu, chunks)):
            between = f"{count} clusters" if count > 1 else "NPUs"
            text = (
                f"{need} messages between {between} are needed, few have something to send at first, and"
                " links into those without the root take one after the other"
            )
            found = Bound("spread", strongest.time_ps, (), text)
    if found is not None:
        yield found


class Spreads:
    """Messages from each NPU past switches: how long they take, over which link, to which NPUs."""

    def __init__(self, view: View, *, turned: bool) -> None:
        graph = view.problem.graph
        ends = (graph.destinations, graph.sources) if turned else (graph.sources, graph.destinations)
        self.npus = graph.npus
        self.sources, self.heads = (column.tolist() for column in ends)
        self.arrival = view.problem.arrival_ps.tolist()
        self.held = view.problem.held_ps.tolist()
        self.engines = dict(graph.max_receives if turned else graph.max_sends)
        self._out: list[list[int]] = [[] for _ in range(graph.nodes)]
        for link, node in enumerate(self.sources):
            self._out[node].append(link)
        self._past = {head: self._ways_past(head) for head in set(self.heads)}

    @classmethod
    def of(cls, view: View, *, turned: bool = False) -> Spreads | None:
        """Return those of a view; None where a switch copies (on turned links: adds) or NPUs are many."""
        graph = view.problem.graph
        switches = frozenset(range(graph.npus, graph.nodes))
        if switches != (graph.cannot_add if turned else graph.cannot_copy):
            return None
        if not 1 < graph.npus <= MOST_NPUS or graph.nodes * len(graph) > _MOST_STEPS:
            return None
        return cls(view, turned=turned)

    def _ways_past(self, head: int) -> dict[int, int]:
        """The NPUs that a message at a node can come to past switches, and how long it takes."""
        found, queue = {head: 0}, [(0, head)]
        while queue:
            time, node = heapq.heappop(queue)
            if time > found[node] or node < self.npus:
                continue
            for link in self._out[node]:
                there, to = time + self.arrival[link], self.heads[link]
                if there < found.get(to, there + 1):
                    found[to] = there
                    heapq.heappush(queue, (there, to))
        return {node: time for node, time in found.items() if node < self.npus}

    def parts(self) -> Iterator[list[int]]:
        """The part of each NPU where messages of up to a time join NPUs; at first all are one."""
        ways = [
            sorted(
                (self.arrival[link] + time, other)
                for link in self._out[npu]
                for other, time in self._past_of(link)
            )
            for npu in range(self.npus)
        ]
        times = sorted({time for of_npu in ways for time, _ in of_npu})
        part = list(range(self.npus))
        yield [0] * self.npus
        for limit in times[:: -(-len(times) // _MOST_PARTS) or 1]:
            for npu, of_npu in enumerate(ways):
                for time, other in of_npu:
                    if time > limit:
                        break
                    one, two = sorted((part[npu], part[other]))
                    if one != two:
                        part = [one if number == two else number for number in part]
            if len(set(part)) == 1:
                return
            yield part

    def start_of(self, npu: int, number: int) -> int:
        """When so many sends of an NPU can have started at the earliest, if its links are free at 0."""
        held = [self.held[link] for link in self._out[npu]]
        starts = [(0, time) for time in sorted(held)]
        for _ in range(number - 1 if starts else 0):
            start, time = starts[0]
            heapq.heapreplace(starts, (start + time, time))
        most = self.engines.get(npu, len(held))
        return max(starts[0][0], (number - 1) // most * min(held)) if starts else 0

    def _past_of(self, link: int) -> Iterable[tuple[int, int]]:
        """The NPUs that messages on a link come to, but for the sender."""
        ways = self._past[self.heads[link]].items()
        return ((other, time) for other, time in ways if other != self.sources[link])

    def deliveries(self, part: Sequence[int], *, outside: bool, chunks: int = 1) -> list[int]:
        """When 1, 2, … messages of an NPU can be at others, in its part or outside: the least of all."""
        return _least(self._deliveries_of(npu, part, outside, chunks) for npu in range(self.npus))

    def deliveries_of_parts(self, part: Sequence[int], chunks: int) -> list[int]:
        """When 1, 2, … messages of a part that has something can be at NPUs of others: the least of all."""
        merged: dict[int, list[int]] = {}
        for npu in range(self.npus):
            merged.setdefault(part[npu], []).extend(self._deliveries_of(npu, part, True, chunks))
        return _least(sorted(times) for times in merged.values())

    def _deliveries_of(self, npu: int, part: Sequence[int], outside: bool, chunks: int) -> list[int]:
        times, firsts = [], []
        for link in self._out[npu]:
            ways = [time for other, time in self._past_of(link) if (part[other] != part[npu]) == outside]
            first = self.arrival[link] + min(ways, default=0)
            times += [first + number * self.held[link] for number in range(chunks * len(ways))]
            firsts += [(self.held[link], first)] if ways else []
        times.sort()
        most = self.engines.get(npu, len(firsts))
        if most < len(firsts):
            held, first = map(min, zip(*firsts, strict=True))
            times = [max(time, first + number // most * held) for number, time in enumerate(times)]
        return times

    def times_inside(self, part: Sequence[int], npus: int) -> list[int]:
        """When 1, 2, … up to so many NPUs of a part can have what one has at 0, by messages inside of it."""
        size = max(Counter(part).values())
        return _times(min(npus, size), [0], self.deliveries(part, outside=False), [size], None)

    def times_to(self, npus: int, part: Sequence[int]) -> list[int]:
        """When 1, 2, … up to so many NPUs can have what one has at 0; fewer if no more can."""
        members = [[npu for npu, number in enumerate(part) if number == own] for own in set(part)]
        sizes = sorted(map(len, members), reverse=True)
        if len(sizes) == 1:
            return self.times_inside(part, npus)
        inside = self.times_inside(part, sizes[0])
        outside = self.deliveries(part, outside=True)
        senders = max(sum(self._leaves_part(npu, part) for npu in of_part) for of_part in members)
        ways = (_times(npus, inside, outside, sizes, count) for count in (None, senders))
        return [max(times) for times in zip(*ways, strict=False)]

    def least_times(self, npus: int) -> list[int]:
        """When 1, 2, … up to so many NPUs can have what one has at 0, by the strongest parts for each."""
        found = (self.times_to(npus, part) for part in self.parts())
        return [max(times) for times in zip(*(times for times in found if len(times) == npus), strict=True)]

    def time_of(self, need: int, since: Sequence[int], part: Sequence[int], chunks: int) -> int:
        """When NPUs with chunks since some times can have brought so many messages, to other parts if any.

        0 if they never can.
        """
        messages = self.deliveries(part, outside=len(set(part)) > 1, chunks=chunks)
        coming = [(time + messages[0], 0, time) for time in since] if messages else []
        heapq.heapify(coming)
        now = 0
        for _ in range(need):
            if not coming:
                return 0
            now, number, time = heapq.heappop(coming)
            if number + 1 < len(messages):
                heapq.heappush(coming, (time + messages[number + 1], number + 1, time))
        return now

    def time_with_takers(self, part: Sequence[int], root: int, chunks: int) -> int:
        """When messages of so many chunks of a root can have come to all other parts; see `takers`."""
        takers = Counter(
            self.held[link]
            for link, (source, head) in enumerate(zip(self.sources, self.heads, strict=True))
            if head < self.npus and part[head] != part[root]
            if source >= self.npus or part[source] != part[head]
        )
        return time_with_takers(self.deliveries_of_parts(part, chunks), takers, len(set(part)), chunks)

    def _leaves_part(self, npu: int, part: Sequence[int]) -> bool:
        """Whether messages of an NPU can go to other parts."""
        return any(part[other] != part[npu] for link in self._out[npu] for other, _ in self._past_of(link))


def _least(lists: Iterable[list[int]]) -> list[int]:
    """The least of all at each place."""
    least: list[int] = []
    for times in lists:
        least = [*map(min, least, times), *least[len(times) :], *times[len(least) :]]
    return least


def _times(
    npus: int, each: Sequence[int], messages: Sequence[int], sizes: Sequence[int], senders: int | None
) -> list[int]:
    """When 1, 2, … up to so many NPUs have a chunk at the earliest.

    An NPU brings `messages` from when it has the chunk; or, if said, so many `senders` of a part from when
    one of it has it. A message gives it to NPUs after the times `each`, as the first NPU does. They are no
    more than there are in as many parts as were reached, of these `sizes`.
    """
    found: list[int] = []
    room, seeds, could = sizes[0], 1, 0
    coming = [(time, -1, 0) for time in each]  # when, which message of an NPU, since when it has the chunk

    def send(now: int, count: int) -> None:
        for _ in range(count if messages else 0):
            heapq.heappush(coming, (now + messages[0], 0, now))

    send(0, senders or 0)
    while coming and len(found) < npus:
        now = coming[0][0]
        while coming and coming[0][0] == now:
            _, number, since = heapq.heappop(coming)
            if number < 0:
                could += 1
                continue
            for time in each:
                heapq.heappush(coming, (now + time, -1, 0))
            if seeds < len(sizes):
                room += sizes[seeds]
                send(now, senders or 0)
            seeds += 1
            if number + 1 < len(messages):
                heapq.heappush(coming, (since + messages[number + 1], number + 1, since))
        while len(found) < min(npus, could, room):
            found.append(now)
            if senders is None:
                send(now, 1)
    return found
