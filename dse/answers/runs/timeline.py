"""The timeline of a run of traces: of a simulation by class of ranks, of a replay by thread and stream."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping
from typing import Any

from dse.answers.timelines import TimelineOptions
from dse.answers.timelines.write import write_events, write_timeline
from dse.simulation.recorded.classes import class_name, classes_of
from dse.simulation.recorded.replay import Replay
from dse.studies.recorded import Case
from dse.studies.recorded.run import recorded_run, replay_of


def timeline_bytes(case: Case, *, is_packed: bool = False) -> bytes:
    """Return the trace events of a case, bounded as those of points; the same case gives the same bytes.

    Raises:
        InputError: another program than the engine simulated it.
    """
    about = {"traces": case.traces.name, "system": case.place, **case.asked, "key": case.key}
    text = io.StringIO()
    if case.traces.is_recorded:
        _write_replay(replay_of(case), text, about)
    else:
        write_timeline(recorded_run(case), text, about=about)
    data = text.getvalue().encode()
    return gzip.compress(data, mtime=0) if is_packed else data


def _write_replay(replay: Replay, text: io.StringIO, about: Mapping[str, str]) -> None:
    """The longest nodes, as many as the bound allows; waits for other ranks are slices of their own."""
    most = TimelineOptions().max_events
    ended = (replay.end_ns > replay.start_ns).nonzero()[0]
    length = replay.end_ns[ended] - replay.start_ns[ended]
    kept = sorted(ended[length.argsort(kind="stable")[::-1][:most]].tolist())
    write_events(text, _events(replay, kept), {**about, "dropped_slices": str(len(ended) - len(kept))})


def _events(replay: Replay, kept: list[int]) -> Iterator[Mapping[str, Any]]:
    step = replay.step
    for rank in step.ranks:
        yield {"ph": "M", "pid": rank + 1, "tid": 0, "name": "process_name", "args": {"name": f"rank {rank}"}}
    for number, lane in enumerate(step.lanes):
        place = {"pid": lane.rank + 1, "tid": number + 1}
        yield {"ph": "M", **place, "name": "thread_name", "args": {"name": lane.name}}
    classes = classes_of(step)
    slices: list[tuple[int, int, int, str]] = []  # start, length, node, category
    for node in kept:
        start, run, end = int(replay.start_ns[node]), int(replay.run_ns[node]), int(replay.end_ns[node])
        if run > start:
            slices.append((start, run - start, node, "waiting"))
        slices.append((max(start, run), end - max(start, run), node, class_name(int(classes[node]))))
    for start, length, node, category in sorted(slices):
        number = int(step.lane[node])
        name = step.names[step.name[node]]
        yield {
            "ph": "X",
            "name": f"waits: {name}" if category == "waiting" else name,
            "cat": category,
            "ts": start,
            "dur": length / 1000,
            "pid": step.lanes[number].rank + 1,
            "tid": number + 1,
            "args": _arguments(replay, node),
        }


def _arguments(replay: Replay, node: int) -> dict[str, Any]:
    step = replay.step
    found: dict[str, Any] = {"node": node, "gap_ns": int(step.gap_ns[node])}
    number = int(step.communication[node])
    if number >= 0:
        each = step.communications[number]
        found |= {
            "kind": each.kind,
            "bytes": each.size_bytes,
            "group": each.group,
            "ranks": len(each.members),
        }
        last = replay.last_rank(number)
        if last is not None:
            found["last rank"] = last
    return found
