"""A schedule as trace events for Perfetto: a track per link, a slice per send."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dse.collectives.problem.schedule import Schedule

_FIRST_THREAD = 1_000_000  # thread ids differ from process ids, which viewers take for main threads


def trace_events(schedule: Schedule, title: str) -> Iterator[str]:
    """Yield the text of the file in parts; `ts` is in µs, as the format wants it, exact to the ps.

    A process is the node that sends, its tracks are the links from there; links without sends have none.
    """
    graph = schedule.problem.graph
    used = sorted(set(schedule.link.tolist()))
    sources, destinations = graph.sources.tolist(), graph.destinations.tolist()
    yield '{"displayTimeUnit":"ns","otherData":' + json.dumps({"title": title}) + ',"traceEvents":[\n'
    lines = [
        {"ph": "M", "pid": node, "name": "process_name", "args": {"name": _node(graph.npus, node)}}
        for node in sorted({sources[link] for link in used})
    ]
    lines += [
        {
            "ph": "M",
            "pid": sources[link],
            "tid": _FIRST_THREAD + link,
            "name": "thread_name",
            "args": {"name": f"{sources[link]} to {destinations[link]}"},
        }
        for link in used
    ]
    yield ",\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    held = schedule.problem.held_ps[schedule.link]
    free = schedule.start_ps + held
    columns = (schedule.link, schedule.chunk, schedule.start_ps, free, schedule.end_ps, schedule.reduce)
    for link, chunk, start, until, end, adds in zip(*(c.tolist() for c in columns), strict=True):
        track = f'"pid":{sources[link]},"tid":{_FIRST_THREAD + link}'
        name = f"chunk {chunk}{', reduce' if adds else ''}"
        arguments = f'{{"chunk":{chunk},"arrives_us":{in_us(end)}}}'
        yield f',\n{{"ph":"B","name":"{name}","ts":{in_us(start)},{track},"args":{arguments}}}'
        yield f',\n{{"ph":"E","name":"{name}","ts":{in_us(until)},{track}}}'
    yield "\n]}\n"


def _node(npus: int, node: int) -> str:
    return f"NPU {node}" if node < npus else f"switch {node}"


def in_us(time_ps: int) -> str:
    """Return a time as an exact decimal of us."""
    whole, rest = divmod(time_ps, 10**6)
    return f"{whole}.{rest:06d}"
