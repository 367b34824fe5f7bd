"""Trace events: metadata, slices, counters and flows as the JSON objects that a viewer reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dse.answers.timelines.bounds import Step
from dse.answers.timelines.flows import Flow
from dse.answers.timelines.tracks import Slice, Threads, arguments
from dse.simulation.simulators import RankRecording

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
