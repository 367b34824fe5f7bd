"""Writes a timeline, event by event: metadata first, then all others in order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, TextIO

from dse.answers.timelines.bounds import (
    Flow,
    Step,
    TimelineOptions,
    TimelineSummary,
    flows_of,
    kept_flows,
    kept_slices,
    kept_steps,
)
from dse.answers.timelines.tracks import Slice, Threads, arguments, slices_of
from dse.base.errors import InputError
from dse.simulation.simulators import NEVER, RankRecording, Recording


def write_timeline(
    recording: Recording,
    file: TextIO,
    options: TimelineOptions | None = None,
    about: Mapping[str, str] | None = None,
    titles: Mapping[int, str] | None = None,
) -> TimelineSummary:
    """Write one process a recorded class of ranks; the same recording and options give the same bytes.

    `about` are facts on the point, such as its model and strategy; they are stored in `otherData`, with what
    was dropped. `titles` names the processes of some ranks.

    Raises:
        InputError: a class does not exist or was not recorded.
    """
    options = options or TimelineOptions()
    ranks = _chosen(recording, options.classes)
    last_ns = max((time for entry in ranks for time in _times(entry)), default=0)
    end_ns = last_ns + max(1000, last_ns // 20)  # of what never ends, so that it can be seen
    threads = Threads()
    slices = [drawn for entry in ranks for drawn in slices_of(entry, threads, end_ns)]
    steps = [(entry.rank_class, *step) for entry in ranks for step in entry.memory_curve()]

    flows = list(flows_of(recording, slices)) if options.flows else []

    # The memory curve may take a quarter of the bound, and all that slices leave.
    room = options.max_events
    shown = kept_slices(slices, max(room - len(steps), room - room // 4))
    curve = kept_steps(steps, room - len(shown))
    places = {(s.rank_class, s.node.node) for s in shown}
    arrows = [flow for flow in flows if flow.places <= places]
    arrows = kept_flows(arrows, (room - len(shown) - len(curve)) // 2)

    summary = TimelineSummary(
        slices=len(shown),
        counters=len(curve),
        flows=len(arrows),
        dropped_slices=len(slices) - len(shown),
        dropped_counters=len(steps) - len(curve),
        dropped_flows=len(flows) - len(arrows),
    )
    events = events_of(ranks, threads, shown, curve, arrows, titles)
    facts = {**(about or {}), **{key: str(value) for key, value in summary.to_json().items()}}
    write_events(file, events, facts)
    return summary


def write_events(file: TextIO, events: Iterable[Mapping[str, Any]], facts: Mapping[str, str]) -> None:
    """Write trace events, and facts on them as `otherData`."""
    file.write('{"displayTimeUnit":"ns",\n"otherData":')
    file.write(json.dumps(facts, ensure_ascii=False, separators=(",", ":")))
    file.write(',\n"traceEvents":[')
    for number, event in enumerate(events):
        file.write(",\n" if number else "\n")
        file.write("{" + ",".join(f'"{key}":{_text(key, value)}' for key, value in event.items()) + "}")
    file.write("\n]}\n")


def _text(key: str, value: Any) -> str:
    if key == "ts":  # ns as decimal µs: never through a float
        return f"{value // 1000}.{value % 1000:03d}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _chosen(recording: Recording, classes: Sequence[int] | None) -> list[RankRecording]:
    count = len(recording.outcome.classes)
    if classes is None:
        return _first_ranks(recording, range(count))
    for number in classes:
        if not 0 <= number < count:
            raise InputError(f"rank class {number} does not exist; there are classes 0 to {count - 1}")
        if not _first_ranks(recording, [number]):
            raise InputError(f"rank class {number} was not recorded")
    return _first_ranks(recording, classes)


def _first_ranks(recording: Recording, classes: Iterable[int]) -> list[RankRecording]:
    """The first recorded rank of each of these classes that has one."""
    first: dict[int, RankRecording] = {}
    for entry in recording.ranks:
        first.setdefault(entry.rank_class, entry)
    return [first[number] for number in sorted(set(classes)) if number in first]


def _times(entry: RankRecording) -> Iterator[int]:
    for node in entry.nodes:
        yield node.start_ns if node.end_ns == NEVER else node.end_ns


_FIRST_THREAD = 1_000_000  # thread ids differ from process ids, which viewers take for main threads
_MEMORY = "memory"  # viewers add the name of the value, bytes
_Timed = tuple[tuple[int, ...], Mapping[str, Any]]  # order, event


def events_of(
    ranks: Sequence[RankRecording],
    threads: Threads,
    slices: Sequence[Slice],
    steps: Sequence[Step],
    flows: Sequence[Flow],
    titles: Mapping[int, str] | None = None,
) -> Iterator[Mapping[str, Any]]:
    """Return metadata, then all other events in order of time; `ts` is in ns.

    `titles` names the processes of some ranks.
    """
    for entry in ranks:
        process = {"ph": "M", "pid": _pid(entry.rank_class)}
        yield {
            **process,
            "name": "process_name",
            "args": {"name": (titles or {}).get(entry.rank) or _process_name(entry)},
        }
        yield {**process, "name": "process_sort_index", "args": {"sort_index": entry.rank_class}}
    used = {drawn.thread for drawn in slices}
    for number, (rank_class, name) in enumerate(threads.names):
        if number in used:
            thread = {"ph": "M", "pid": _pid(rank_class), "tid": _FIRST_THREAD + number}
            yield {**thread, "name": "thread_name", "args": {"name": name}}
            yield {**thread, "name": "thread_sort_index", "args": {"sort_index": number}}
    timed = [event for drawn in slices for event in _slice_events(drawn)]
    timed += map(_counter_event, steps)
    for number, flow in enumerate(flows, 1):
        timed += _flow_events(number, flow)
    timed.sort(key=itemgetter(0))
    for _, event in timed:
        yield event


def _slice_events(drawn: Slice) -> Iterator[_Timed]:
    """Where a slice begins and where it ends: two numbers, whereas a duration would have to be added to the
    first one, and the rounding of that sum makes viewers see neighbours overlap.
    """
    track = {"pid": _pid(drawn.rank_class), "tid": _FIRST_THREAD + drawn.thread}
    begin = {"ph": "B", "name": drawn.name, "cat": drawn.category, "ts": drawn.start_ns, **track}
    end = {"ph": "E", "name": drawn.name, "ts": drawn.end_ns, **track}
    # At one time: what ends, what takes no time, what begins; then arrows find the slice open.
    takes_time = drawn.end_ns > drawn.start_ns
    place = (drawn.thread, drawn.node.node)
    yield (drawn.start_ns, 2 if takes_time else 1, *place, 0), {**begin, "args": arguments(drawn.node)}
    yield (drawn.end_ns, 0 if takes_time else 1, *place, 1), end


def _counter_event(step: Step) -> _Timed:
    rank_class, time_ns, size = step
    event = {
        "ph": "C",
        "name": _MEMORY,
        "ts": time_ns,
        "pid": _pid(rank_class),
        "tid": _pid(rank_class),
        "args": {"bytes": size},
    }
    return (time_ns, 3, rank_class), event


def _flow_events(number: int, flow: Flow) -> Iterator[_Timed]:
    ends = (("s", flow.source, flow.from_ns), ("f", flow.target, flow.to_ns))
    for order, (phase, drawn, time_ns) in enumerate(ends, 4):
        event: dict[str, Any] = {
            "ph": phase,
            "name": flow.category,
            "cat": "flow",
            "id": number,
            "ts": time_ns,
        }
        if phase == "f":
            event["bp"] = "e"
        event |= {"pid": _pid(drawn.rank_class), "tid": _FIRST_THREAD + drawn.thread}
        yield (time_ns, order, number), event


def _pid(rank_class: int) -> int:
    return rank_class + 1


def _process_name(entry: RankRecording) -> str:
    members = entry.members
    if len(members) == 1:
        return f"rank {members[0]}"
    listed = ",".join(map(str, members[:8])) + (",…" if len(members) > 8 else "")
    return f"class {entry.rank_class}: {len(members)} ranks like rank {entry.rank} {{{listed}}}"
