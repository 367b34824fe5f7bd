"""Messages between NPUs that do what a schedule does: without switches, neighbours in memory joined."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from dse.base.errors import InputError
from dse.base.lazy import np
from dse.collectives.problem.schedule import Schedule


class Message(NamedTuple):
    """Chunks that one NPU sends to another at once; `adds` to what is there."""

    source: int
    target: int
    chunks: tuple[int, ...]
    start_ps: int
    end_ps: int
    adds: bool


class Event(NamedTuple):
    """A message leaves its source or arrives (`arrives`): the order in which places are read and written."""

    time_ps: int
    arrives: bool
    message: int


def messages_of(schedule: Schedule) -> list[Message]:
    """Return a message per send; what comes over switches comes from the NPUs that sent it.

    Raises:
        InputError: a switch adds to what its receiver has changed since.
    """
    sends = sends_of(schedule)
    graph = schedule.problem.graph
    if graph.nodes == graph.npus:
        return sends
    return _without_switches(schedule, sends)


def sends_of(schedule: Schedule) -> list[Message]:
    """Return a message per send of a schedule, also to and from switches."""
    graph = schedule.problem.graph
    rows = zip(
        graph.sources[schedule.link].tolist(),
        graph.destinations[schedule.link].tolist(),
        schedule.chunk.tolist(),
        schedule.start_ps.tolist(),
        _arrivals(schedule),
        schedule.reduce.tolist(),
        strict=True,
    )
    return [Message(source, to, (chunk,), *rest) for source, to, chunk, *rest in rows]


def _arrivals(schedule: Schedule) -> list[int]:
    """When all of each send has arrived."""
    ends: list[int] = (schedule.start_ps + schedule.problem.passed_ps[schedule.link]).tolist()
    return ends


class Delivery(NamedTuple):
    """A send that arrives at an NPU, and the sends of NPUs that it carries.

    `has_changed` says that one of them is its own, and that its chunk has changed since.
    """

    send: int
    carried: tuple[int, ...]
    has_changed: bool


def _without_switches(schedule: Schedule, sends: Sequence[Message]) -> list[Message]:
    found: list[Message] = []
    for delivery in deliveries(schedule, sends):
        found += messages_for(delivery, sends)
    return sorted(found, key=lambda message: (message.start_ps, message.end_ps))


def messages_for(delivery: Delivery, sends: Sequence[Message]) -> list[Message]:
    """Return the messages that bring an NPU what a switch sends to it.

    Raises:
        InputError: a switch adds to what its receiver has changed since.
    """
    send = sends[delivery.send]
    if delivery.has_changed:
        raise InputError(
            f"a switch adds chunk {send.chunks[0]} for NPU {send.target}, which has changed it since: "
            "synthesise with switches=unrolled, or leave this export out"
        )
    others = [each for each in delivery.carried if sends[each].source != send.target]
    # Messages that arrive at one time are taken in this order, and the first one may replace what is there.
    others.sort(key=lambda each: (sends[each].start_ps, sends[each].source))
    has_own = len(others) < len(delivery.carried)
    return [
        Message(
            sends[each].source,
            send.target,
            send.chunks,
            sends[each].start_ps,
            send.end_ps,
            send.adds or has_own or number > 0,
        )
        for number, each in enumerate(others)
    ]


def deliveries(schedule: Schedule, sends: Sequence[Message]) -> Iterator[Delivery]:
    """Yield what arrives at NPUs in order of time; `sends` are all sends, those of switches too."""
    npus = schedule.problem.graph.npus
    origins: dict[int, tuple[int, ...]] = {}  # per send the sends of NPUs that it carries
    held: dict[tuple[int, int], tuple[int, ...]] = {}  # the same of a chunk at a switch
    # What a switch only passes on, the oldest first.
    waiting: defaultdict[tuple[int, int, bool], deque[tuple[int, ...]]] = defaultdict(deque)
    lacking = {False: schedule.problem.graph.cannot_copy, True: schedule.problem.graph.cannot_add}
    changes: defaultdict[tuple[int, int], int] = defaultdict(int)
    seen: dict[int, int] = {}  # per send of an NPU how often its place had changed
    for step in ordered_steps(schedule):
        send = sends[step.send]
        place = (send.target if step.arrives else send.source, send.chunks[0])
        queue = waiting[place[0], place[1], send.adds]
        if not step.arrives:
            passed = queue.popleft() if place[0] in lacking[send.adds] and queue else held.get(place, ())
            origins[step.send] = (step.send,) if send.source < npus else passed
            seen[step.send] = changes[place]
        elif send.target in lacking[send.adds]:
            queue.append(origins[step.send])
        elif send.target >= npus:
            before = held.get(place, ()) if send.adds else ()
            held[place] = (*before, *origins[step.send])
        else:
            carried = origins[step.send]
            own = [each for each in carried if sends[each].source == send.target]
            yield Delivery(step.send, carried, any(seen[each] != changes[place] for each in own))
            changes[place] += 1


def ordered_events(messages: Sequence[Message]) -> list[Event]:
    """Return both events of every message by time; at one time what arrives comes first."""
    events = [
        event
        for number, message in enumerate(messages)
        for event in (Event(message.start_ps, False, number), Event(message.end_ps, True, number))
    ]
    return sorted(events, key=lambda event: (event.time_ps, not event.arrives, event.message))


def joined(
    messages: Sequence[Message],
    slot_of: Callable[[int, int], tuple[str, int]],
    most: int,
    kept: Set[tuple[int, int]] = frozenset(),
) -> list[Message]:
    """Return messages with those joined that lie side by side at both ends and keep nothing waiting.

    Chunks leave together if nothing has changed them before, and arrive together if nothing is done with the
    first ones until the last one is there. Only chunks that are no sums are joined, at most `most`, and none
    of `kept`, which are places that other operations touch.
    """
    is_first, used = _lifetimes(messages)
    for number, message in enumerate(messages):
        if {(message.source, message.chunks[0]), (message.target, message.chunks[0])} & kept:
            is_first[number], used[number] = False, 0
    by_link: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for number, message in enumerate(messages):
        by_link[message.source, message.target].append(number)
    found: list[Message] = []
    for numbers in by_link.values():
        numbers.sort(key=lambda number: (messages[number].start_ps, messages[number].end_ps))
        group: list[int] = []
        for number in numbers:
            if group and not _fits(messages, group, number, is_first, used, slot_of, most):
                found.append(_one(messages, group))
                group = []
            group.append(number)
        found.append(_one(messages, group))
    return sorted(found, key=lambda message: (message.start_ps, message.end_ps, message.source))


def _lifetimes(messages: Sequence[Message]) -> tuple[list[bool], list[int]]:
    """Whether a message carries what its NPU had at first, and when what it has brought is next touched."""
    last: dict[tuple[int, int], int] = {}  # the message that has written a place
    is_first, used = [False] * len(messages), [1 << 62] * len(messages)
    for time, arrives, number in ordered_events(messages):
        message = messages[number]
        place = (message.target if arrives else message.source, message.chunks[0])
        if place in last:
            used[last[place]] = min(used[last[place]], time)
        if arrives:
            last[place] = number
        else:
            is_first[number] = place not in last
    return is_first, used


def _fits(
    messages: Sequence[Message],
    group: list[int],
    number: int,
    is_first: list[bool],
    used: list[int],
    slot_of: Callable[[int, int], tuple[str, int]],
    most: int,
) -> bool:
    last, new = messages[group[-1]], messages[number]
    if new.adds or last.adds or len(group) >= most or not is_first[number]:
        return False
    if new.end_ps < last.end_ps or any(used[each] <= new.end_ps for each in group):
        return False
    ends = ((new.source, last.chunks[0], new.chunks[0]), (new.target, last.chunks[0], new.chunks[0]))
    for npu, one, other in ends:
        (buffer, offset), (next_buffer, next_offset) = slot_of(npu, one), slot_of(npu, other)
        if (buffer, offset + 1) != (next_buffer, next_offset):
            return False
    return True


def _one(messages: Sequence[Message], group: list[int]) -> Message:
    first, last = messages[group[0]], messages[group[-1]]
    chunks = tuple(chunk for number in group for chunk in messages[number].chunks)
    return first._replace(chunks=chunks, end_ps=last.end_ps)


class Step(NamedTuple):
    """A send leaves its source, or arrives at its destination (`arrives`).

    `written_by` is the last send that brought the chunk to that node before, None if none did.
    """

    send: int
    arrives: bool
    written_by: int | None


def ordered_steps(schedule: Schedule) -> Iterator[Step]:
    """Yield both steps of every send in order of time; at one time what arrives comes first."""
    count, graph = len(schedule), schedule.problem.graph
    starts, ends = schedule.start_ps, schedule.end_ps
    times = np.concatenate([starts, ends])
    phases = np.concatenate([np.ones(count, dtype=np.int8), np.where(ends > starts, 0, 2)])
    places = np.concatenate([graph.sources[schedule.link], graph.destinations[schedule.link]]).astype(
        np.int64
    )
    places = places * max(schedule.problem.collective.chunks, 1) + np.tile(schedule.chunk, 2)
    order = np.lexsort((np.arange(2 * count), phases, times)).tolist()
    place_of = places.tolist()
    written: dict[int, int] = {}
    for event in order:
        arrives, place = event >= count, place_of[event]
        send = event - count if arrives else event
        yield Step(send, arrives, written.get(place))
        if arrives:
            written[place] = send
