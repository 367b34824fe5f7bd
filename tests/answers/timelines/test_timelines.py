"""Timelines obey the rules of trace events, show every node, and stay within their bound."""

from __future__ import annotations

import bisect
import io
import itertools
import json
from collections import defaultdict
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from simulation.simulators.random_points import Point, points

from dse.answers.timelines import TimelineOptions, TimelineSummary, write_timeline
from dse.base.errors import DseError, InputError
from dse.inputs.strategies import Strategy
from dse.simulation.simulators import NativeSimulator, Recording
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.testing.builders import RING16, TINY, coll, comp, recv, send, system, workload

Event = dict[str, Any]
SIMULATOR = NativeSimulator()
FIELDS = {
    "M": {"ph", "pid", "name", "args"},
    "B": {"ph", "name", "cat", "ts", "pid", "tid", "args"},
    "E": {"ph", "name", "ts", "pid", "tid"},
    "C": {"ph", "name", "ts", "pid", "tid", "args"},
    "s": {"ph", "name", "cat", "id", "ts", "pid", "tid"},
    "f": {"ph", "name", "cat", "id", "ts", "bp", "pid", "tid"},
}


def tiny(**strategy: int | bool) -> Recording:
    config = compose_config(["system=dgx16"])
    return SIMULATOR.record(generate(TINY, Strategy(**strategy)), config.system)  # type: ignore[arg-type]


def written(
    recording: Recording, options: TimelineOptions | None = None
) -> tuple[TimelineSummary, dict[str, Any], str]:
    file = io.StringIO()
    summary = write_timeline(recording, file, options, {"model": "tiny"})
    return summary, json.loads(file.getvalue(), parse_float=Decimal), file.getvalue()


def ns(microseconds: Decimal) -> int:
    assert isinstance(microseconds, Decimal)
    assert microseconds.as_tuple().exponent == -3
    return int(microseconds * 1000)


def slices_of(events: list[Event]) -> list[Event]:
    """Pair begins and ends: on every track they alternate, in the order of the file."""
    begun: dict[tuple[int, int], Event] = {}
    slices = []
    for event in events:
        track = event["pid"], event.get("tid", 0)
        if event["ph"] == "B":
            assert track not in begun
            begun[track] = event
            slices.append(event)
        elif event["ph"] == "E":
            begin = begun.pop(track)
            assert begin["name"] == event["name"]
            begin["dur"] = event["ts"] - begin["ts"]
    assert not begun
    return slices


def check_rules(content: dict[str, Any], summary: TimelineSummary) -> dict[str, list[Event]]:
    """Check what viewers ask of trace events; return the events by phase, slices as "X" with "dur"."""
    assert content["displayTimeUnit"] == "ns"
    events: defaultdict[str, list[Event]] = defaultdict(list)
    for event in content["traceEvents"]:
        events[event["ph"]].append(event)
        assert set(event) - {"tid", "dur"} == FIELDS[event["ph"]] - {"tid"}
        assert isinstance(event["pid"], int)
        assert event["pid"] > 0
        assert isinstance(event["name"], str)
        assert event["name"]
        assert "tid" in event or event["name"].startswith("process_")
        if "ts" in event:  # readers make a double of the number and round it to ns
            assert round(float(event["ts"]) * 1000) == ns(event["ts"]) >= 0
    events["X"] = slices_of(content["traceEvents"])
    others = [event for event in content["traceEvents"] if event["ph"] != "M"]
    assert [event["ts"] for event in others] == sorted(event["ts"] for event in others)
    assert others == content["traceEvents"][len(events["M"]) :]

    named = {(e["pid"], e["tid"]) for e in events["M"] if e["name"] == "thread_name"}
    open_slices: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events["X"]:
        start = ns(event["ts"])
        open_slices[event["pid"], event["tid"]].append((start, start + ns(event["dur"])))
    assert set(open_slices) == named
    assert {pid for pid, _ in named} <= {e["pid"] for e in events["M"] if e["name"] == "process_name"}
    for spans in open_slices.values():
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))

    for pid in {event["pid"] for event in events["C"]}:
        times = [event["ts"] for event in events["C"] if event["pid"] == pid]
        assert all(a < b for a, b in itertools.pairwise(times))
        assert all(list(event["args"]) == ["bytes"] for event in events["C"])

    starts, ends = ({e["id"]: e for e in events[phase]} for phase in "sf")
    assert len(starts) == len(events["s"]) == len(events["f"])
    assert set(starts) == set(ends)
    for number, start in starts.items():
        end = ends[number]
        assert (start["name"], start["cat"], end["bp"]) == (end["name"], end["cat"], "e")
        assert start["ts"] <= end["ts"]
        for event in (start, end):
            spans = open_slices[event["pid"], event["tid"]]
            time = ns(event["ts"])
            before = spans[bisect.bisect(spans, (time, float("inf"))) - 1]
            assert before[0] <= time < before[1]
    assert (len(events["X"]), len(events["C"]), len(starts)) == (
        summary.slices,
        summary.counters,
        summary.flows,
    )
    return events


def names(events: dict[str, list[Event]], what: str) -> list[str]:
    return [event["args"]["name"] for event in events["M"] if event["name"] == what]


def test_a_small_timeline_by_hand() -> None:
    """A computation of 33333 ns, a message of 9363 ns, another computation."""
    first = [comp(1, writes={"a": 10}), send(2, to=1, size=10**6, after=[1], reads={"a": 10})]
    second = [recv(7, source=0, size=10**6), comp(9, after=[7])]
    recording = SIMULATOR.record(workload(first, second), system(track_local_memory=True))
    summary, content, _ = written(recording)
    events = check_rules(content, summary)
    assert names(events, "process_name") == ["rank 0", "rank 1"]
    assert names(events, "thread_name") == ["compute", "send to rank 1", "compute", "receive from rank 0"]
    assert [(e["name"], e["cat"], ns(e["ts"]), ns(e["dur"]), e["pid"]) for e in events["X"]] == [
        ("node1", "memory-bound", 0, 33333, 1),
        ("send 1.00 MB: node2", "communication", 33333, 9363, 1),
        ("receive 1.00 MB: node7", "communication", 33333, 9363, 2),
        ("node9", "memory-bound", 42696, 33333, 2),
    ]
    assert [(ns(e["ts"]), e["pid"], e["args"]["bytes"]) for e in events["C"]] == [(0, 1, 10), (42696, 1, 0)]
    flows = sorted(
        (s["name"], ns(s["ts"]), ns(f["ts"])) for s, f in zip(events["s"], events["f"], strict=True)
    )
    assert flows == [("dependency", 33332, 33333), ("dependency", 42695, 42696), ("message", 33333, 42695)]
    assert content["otherData"]["model"] == "tiny"


def test_a_generated_point_has_names_for_people() -> None:
    recording = tiny(dp=2, tp=2, pp=4, activation_recompute=True)
    summary, content, _ = written(recording)
    events = check_rules(content, summary)
    assert summary == TimelineSummary(summary.slices, summary.counters, summary.flows, 0, 0, 0)
    assert summary.slices == sum(len(entry.nodes) for entry in recording.ranks)
    assert summary.counters == sum(len(entry.memory_curve()) for entry in recording.ranks)
    assert names(events, "process_name")[1] == "class 1: 4 ranks like rank 4 {4,5,6,7}"
    tracks = names(events, "thread_name")
    assert {"compute", "tp group {0,2}", "dp group {0,1}", "receive from rank 4"} <= set(tracks)
    drawn = {event["name"] for event in events["X"]}
    assert "layer 3 attention q_recomp" in drawn
    assert any(name.startswith("all-gather ") and name.endswith(": layer 3 mlp x1") for name in drawn)
    assert {event["cat"] for event in events["X"]} >= {"compute-bound", "recompute", "communication"}
    assert any(flow["name"] == "message" for flow in events["s"])


def test_the_same_recording_gives_the_same_bytes() -> None:
    assert written(tiny(dp=4, tp=4))[2] == written(tiny(dp=4, tp=4))[2]


def test_the_memory_curve_reaches_the_peak_also_in_a_bounded_timeline() -> None:
    recording = tiny(dp=2, tp=2, pp=4)
    for options in (None, TimelineOptions(max_events=100)):
        summary, content, _ = written(recording, options)
        events = check_rules(content, summary)
        for entry in recording.ranks:
            sizes = [e["args"]["bytes"] for e in events["C"] if e["pid"] == entry.rank_class + 1]
            assert entry.metrics is not None
            assert max(sizes) == entry.metrics.peak_memory_bytes


@pytest.mark.parametrize("bound", [100, 300, 1000, 1200, 2000])
def test_a_bound_drops_flows_first_then_the_shortest_slices(bound: int) -> None:
    recording = tiny(dp=2, tp=2, pp=4)
    whole, everything, _ = written(recording)
    summary, content, _ = written(recording, TimelineOptions(max_events=bound))
    events = check_rules(content, summary)
    assert summary.slices + summary.counters + 2 * summary.flows <= bound
    assert summary.slices + summary.dropped_slices == whole.slices
    assert summary.counters + summary.dropped_counters == whole.counters
    assert summary.flows + summary.dropped_flows == whole.flows
    assert content["otherData"]["dropped_slices"] == str(summary.dropped_slices)
    if summary.dropped_slices:
        assert summary.flows == 0
        durations = sorted((event["dur"] for event in slices_of(everything["traceEvents"])), reverse=True)
        assert min(e["dur"] for e in events["X"]) >= durations[summary.slices]


def test_flows_can_be_left_out() -> None:
    summary, content, _ = written(tiny(dp=4, tp=4), TimelineOptions(flows=False))
    assert (summary.flows, summary.dropped_flows) == (0, 0)
    check_rules(content, summary)


def test_classes_are_chosen() -> None:
    recording = tiny(dp=2, tp=2, pp=4)
    summary, content, _ = written(recording, TimelineOptions(classes=[2, 1]))
    events = check_rules(content, summary)
    assert {event["pid"] for event in events["X"]} == {2, 3}
    with pytest.raises(InputError, match="rank class 4 does not exist; there are classes 0 to 3"):
        written(recording, TimelineOptions(classes=[4]))
    on = compose_config(["system=dgx16"]).system
    one = SIMULATOR.record(generate(TINY, Strategy(dp=2, tp=2, pp=4)), on, ranks=[5])
    assert written(one)[0].slices > 0
    with pytest.raises(InputError, match="rank class 0 was not recorded"):
        written(one, TimelineOptions(classes=[0]))


def test_a_bound_that_is_too_small_is_refused() -> None:
    with pytest.raises(InputError, match="max_events is 99; it must be at least 100"):
        TimelineOptions(max_events=99)


def test_messages_that_overlap_have_lanes() -> None:
    senders = [send(1, to=0, size=10**6)]
    first = [recv(1, source=1, size=10**6), recv(2, source=1, size=500, tag=1)]
    both = [*senders, comp(3, micros=1), send(2, to=0, size=500, tag=1, after=[3])]
    recording = SIMULATOR.record(workload(first, both), system(replay_only=True))
    summary, content, _ = written(recording)
    events = check_rules(content, summary)
    assert "receive from rank 1 (2)" in names(events, "thread_name")


def test_a_deadlock_shows_what_never_ends() -> None:
    recording = SIMULATOR.record(generate(TINY, Strategy(dp=4, tp=4)), RING16)
    summary, content, _ = written(recording, TimelineOptions(max_events=100))
    events = check_rules(content, summary)
    hanging = [event for event in events["X"] if event["name"].endswith("(never ends)")]
    assert hanging
    assert all(event["dur"] > 0 for event in hanging)


def test_a_rank_that_does_nothing_else_than_hang_is_a_timeline() -> None:
    recording = SIMULATOR.record(workload([recv(1, source=1, size=8)], [coll(1, 0, 8)]), system())
    summary, content, _ = written(recording)
    check_rules(content, summary)


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(points())
def test_random_points_obey_the_rules(point: Point) -> None:
    try:
        recording = SIMULATOR.record(generate(point.model, point.strategy), point.system)
    except DseError:
        return
    for options in (TimelineOptions(), TimelineOptions(max_events=500)):
        summary, content, _ = written(recording, options)
        check_rules(content, summary)


def test_the_default_bound_holds_a_point_of_the_lab() -> None:
    config = compose_config(["system=system1", "model=llama70b"])
    recording = SIMULATOR.record(generate(config.model, Strategy(dp=4, tp=4, sp=4)), config.system)
    summary, content, text = written(recording)
    check_rules(content, summary)
    assert (summary.dropped_slices, summary.dropped_flows, summary.dropped_counters) == (0, 0, 0)
    assert len(text) < 5_000_000
