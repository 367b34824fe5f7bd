"""Writes a timeline, event by event: metadata first, then all others in order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from dse.answers.timelines.bounds import kept_flows, kept_slices, kept_steps
from dse.answers.timelines.events import events_of
from dse.answers.timelines.flows import flows_of
from dse.answers.timelines.options import TimelineOptions, TimelineSummary
from dse.answers.timelines.tracks import Threads, slices_of
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
