"""What is written is read again; both forms of BEAN TACOS; trace events."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from ring_schedules import RINGS, problem, ring_all_gather

from dse.base.errors import InputError
from dse.collectives import LinkModel, Schedule
from dse.collectives.check.checker import check, check_sends
from dse.collectives.files import ScheduleFile, read_schedule
from dse.collectives.files.json_lines import schedule_lines
from dse.collectives.files.parquet import schedule_parquet
from dse.collectives.files.result_csv import schedule_csv
from dse.collectives.files.trace_events import trace_events
from dse.collectives.problem.recorded_sends import SendTable
from dse.inputs.networks import LinkGraph

README = """NPUs Count,5
Links Count,10
Chunks Count,5
Chunk Size,1048576,B
Collective Time,2953124,ns
Synthesis Time,0.01,s
SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ps)
0,1,0,1000,0:976562:0,4:1953124:976562,None
1,2,0,1000,1:976562:0,,
"""


@pytest.mark.parametrize("schedule", RINGS.values(), ids=RINGS)
def test_the_schedules_of_these_tests_are_valid(schedule: Schedule) -> None:
    assert check(schedule).violations == ()


def same_sends(one: SendTable, other: SendTable) -> bool:
    def rows(table: SendTable) -> list[tuple[int, ...]]:
        columns = (table.start_ps, table.source, table.destination, table.chunk, table.end_ps, table.reduce)
        return sorted(zip(*(column.tolist() for column in columns), strict=True))

    return rows(one) == rows(other)


def to_csv(schedule: Schedule) -> bytes:
    return "\n".join(schedule_csv(schedule, 0.25)).encode()


def to_lines(schedule: Schedule) -> bytes:
    return "\n".join(schedule_lines(schedule)).encode()


def to_parquet(schedule: Schedule) -> bytes:
    return schedule_parquet(schedule, {"seed": 7})


@pytest.mark.parametrize("schedule", RINGS.values(), ids=RINGS)
@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", to_csv), ("a.jsonl", to_lines), ("a.parquet", to_parquet)]
)
def test_what_is_written_is_read_again(
    tmp_path: Path, schedule: Schedule, name: str, text: Callable[[Schedule], bytes]
) -> None:
    file = tmp_path / name
    file.write_bytes(text(schedule))
    found = read_schedule(file)
    assert same_sends(found.sends, SendTable.of(schedule))
    assert check_sends(schedule.problem, found.sends).is_valid
    if name != "a.jsonl":
        assert (found.npus, found.chunk_bytes) == (schedule.problem.graph.npus, 1000)
        assert found.graph is not None
        assert found.graph.number_of == schedule.problem.graph.number_of


def test_the_csv_is_the_one_that_others_read() -> None:
    assert "\n".join(schedule_csv(ring_all_gather(3), 0.01)).splitlines() == [
        "NPUs Count,3",
        "Links Count,3",
        "Chunks Count,3",
        "Chunk Size,1000",
        "Collective Time,2000.0,ns",
        "Synthesis Time,0.010,s",
        "SrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ns:ns)",
        "0,1,0,1,0:0.0:1000.0,2:1000.0:2000.0",
        "1,2,0,1,1:0.0:1000.0,0:1000.0:2000.0",
        "2,0,0,1,2:0.0:1000.0,1:1000.0:2000.0",
    ]


def test_the_form_of_the_readme_has_whole_ps_and_the_arrival_first(tmp_path: Path) -> None:
    file = tmp_path / "readme.csv"
    file.write_text(README)
    found = read_schedule(file)
    assert (found.npus, found.links, found.chunks, found.chunk_bytes) == (5, 10, 5, 1048576)
    assert found.time_ps == 2953124
    assert found.sends.start_ps.tolist() == [0, 976562, 0]
    assert found.sends.end_ps.tolist() == [976562, 1953124, 976562]
    assert found.graph is not None
    times = problem(found.graph, "all_gather", model=LinkModel(gb="gib"), size=1048576).arrival_ps
    assert times.tolist() == [976562, 976562]


def read_text(folder: Path, name: str, text: str) -> ScheduleFile:
    file = folder / name
    file.write_text(text)
    return read_schedule(file)


CSV = "NPUs Count,2\nSrcID,DestID,Latency (ns),Bandwidth (GB/s),Chunks (ID:ns:ns)\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "its name must end in .csv, .jsonl, .ndjson, .parquet"),
        ("a.csv", "", "line 1: no line begins with SrcID; expected the header SrcID,"),
        ("a.csv", "NPUs Count\n", "line 1: is 'NPUs Count'; expected a name and a value"),
        ("a.csv", "NPUs Count,x\n" + CSV[13:], "line 1: NPUs Count is 'x'; expected a whole number"),
        ("a.csv", CSV + "0,1,5\n", "line 3: has 3 fields; expected at least 4"),
        ("a.csv", CSV + "0,1,0,0\n", "line 3: latency is 0 and bandwidth 0; expected at least 0 and above 0"),
        ("a.csv", CSV + "0,1,0,1,0:5\n", "line 3: '0:5' is no send; expected chunk:time:time"),
        ("a.csv", CSV + "0,1,0,1,0:0:1:x\n", "line 3: '0:0:1:x' is no send"),
        ("a.csv", CSV + "0,1,0,1,0:0:one\n", "line 3: time is 'one'; it must be a decimal number"),
        ("a.csv", CSV + "0,1,0,1,-1:0:1\n", "line 3: chunk is '-1'; expected a whole number below 2^31"),
        ("a.csv", CSV + "0,1,0,1,0:0:1e300\n", "line 3: time is 1e300; it must be below 2^62 ps"),
        ("a.jsonl", "{}\n", "line 1: src is missing; it must be a whole number"),
        ("a.jsonl", "\n[1]\n", "line 2: is [1]; it must be an object of a send"),
        ("a.jsonl", '{"from": 1}\n', "line 1: has the key 'from'; allowed are src, dst, chunk, start_ps"),
        ("a.jsonl", "{src: 1}\n", "line 1: malformed JSON at line 1, column 2: Expecting property name"),
        ("a.parquet", "no", "cannot be read as Parquet of a schedule"),
        ("none.csv/a.csv", None, "cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_line(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    with pytest.raises(InputError) as error:
        read_schedule(tmp_path / name) if text is None else read_text(tmp_path, name, text)
    assert name in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_parquet_has_the_problem_with_exact_bandwidths_and_provenance(tmp_path: Path) -> None:
    third = LinkGraph.of(3, 3, [(i, (i + 1) % 3, Fraction(1, 2), Fraction(100, 3)) for i in range(3)])
    asked = problem(third, "all_gather", model=LinkModel("gib", "bandwidth", "ns"), size=4096)
    base = ring_all_gather(3)
    schedule = Schedule.of(asked, base.link, base.chunk, base.start_ps)
    file = tmp_path / "a.parquet"
    file.write_bytes(schedule_parquet(schedule, {"seed": 7, "bound": "ingress"}))
    found = read_schedule(file)
    assert found.about == {"seed": 7, "bound": "ingress"}
    assert found.problem is not None
    assert found.problem.collective == asked.collective
    assert (found.problem.model, found.problem.chunk_bytes) == (asked.model, 4096)
    assert found.problem.graph.kinds == third.kinds
    assert found.problem.arrival_ps.tolist() == asked.arrival_ps.tolist()


def test_a_track_of_the_trace_events_is_a_link() -> None:
    data = json.loads("".join(trace_events(ring_all_gather(3), "ring")))
    threads = [event for event in data["traceEvents"] if event["name"] == "thread_name"]
    assert [event["args"]["name"] for event in threads] == ["0 to 1", "1 to 2", "2 to 0"]
    begins = [event for event in data["traceEvents"] if event["ph"] == "B"]
    assert len(begins) == 6
    assert begins[-1]["ts"] == 1.0
    assert {event["pid"] for event in begins} == {0, 1, 2}
