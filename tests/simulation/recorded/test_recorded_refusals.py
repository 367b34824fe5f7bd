"""Files that are no recorded step, or not of one step: what is said of them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from profiler_files import Recording, data_parallel

from dse.base.errors import InputError
from dse.simulation.recorded.pytorch import is_recorded, read_recorded


def made(rank: int = 0, ranks: int = 1, **others: Any) -> Recording:
    recording = Recording(rank, ranks, **others)
    recording.step(1, 0, 100)
    recording.host("aten::mm", 10, 20)
    return recording


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text())
    edit(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    "name", ['{"device": "cpu", "dtype": "float32"}(12): run', r"C:\Users\me.py(3): f", "a\x01b", 'say "hi"']
)
def test_names_that_kineto_writes_without_escapes_are_read(tmp_path: Path, name: str) -> None:
    """As frames of compiled code have them: https://github.com/pytorch/kineto/pull/1459."""
    _, kineto = made().write(tmp_path)
    frame = (
        f'{{"ph": "X", "cat": "python_function", "name": "{name}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}}'
    )
    text = kineto.read_text()
    kineto.write_text(text.replace('"traceEvents": [', f'"traceEvents": [\n{frame},\n', 1))
    assert read_recorded([tmp_path]).ranks == (0,)
    kineto.write_text(kineto.read_text()[:-20])
    with pytest.raises(InputError, match=r"malformed JSON at line .*is the file whole"):
        read_recorded([tmp_path])


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: d.pop("traceEvents"), r"traceEvents is None; it must be a list"),
        (lambda d: d["traceEvents"].append(7), r"traceEvents\[2\] is 7"),
        (lambda d: d["traceEvents"][1].pop("ts"), r"traceEvents\[1\]\.ts is None; it must be a time in µs"),
        (lambda d: d["traceEvents"][1].update(ts=float("nan")), r"traceEvents\[1\]\.ts is nan"),
        (lambda d: d["traceEvents"][1].update(ts="10"), r"traceEvents\[1\]\.ts is '10'; it must be a time"),
        (lambda d: d["traceEvents"][1].update(dur=-1), r"traceEvents\[1\]\.dur is -1"),
        (lambda d: d["traceEvents"][1].update(dur=1e300), r"traceEvents\[1\]\.dur is 1e\+300"),
        (lambda d: d["traceEvents"][1].update(tid=[]), r"traceEvents\[1\]\.tid is \[\]"),
        (lambda d: d["traceEvents"][1].update(name=None), r"traceEvents\[1\] has no name"),
        (lambda d: d.update(baseTimeNanoseconds=1.5), r"baseTimeNanoseconds is 1\.5; it must be a time in"),
        (lambda d: d["distributedInfo"].update(rank=1), r"rank 1 of 1; the rank must be from 0"),
        (lambda d: d["distributedInfo"].update(world_size=10**9), r"at most 1048576"),
        (
            lambda d: d["distributedInfo"].update(pg_config=[{"pg_name": "0", "ranks": [0, 0]}]),
            "different whole",
        ),
        (lambda d: d["traceEvents"].pop(1), "another step|no operator"),
    ],
)
def test_a_wrong_kineto_trace_is_refused_in_one_line(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], words: str
) -> None:
    _, kineto = made().write(tmp_path)
    change(kineto, edit)
    with pytest.raises(InputError, match=words) as refused:
        read_recorded([tmp_path])
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda d: d.update(nodes=[]), r"nodes is \[\]; it must be a list"),
        (
            lambda d: d["nodes"].append(d["nodes"][1]),
            r"nodes\[2\]\.id is 11; every node has a number of its own",
        ),
        (
            lambda d: d["nodes"].append({**d["nodes"][1], "id": 5, "name": "x"}),
            r"nodes\[2\] has rf_id 1, as another",
        ),
        (lambda d: d["nodes"][1].pop("name"), r"nodes\[1\] is .*; it must be a node with a name"),
        (
            lambda d: d["nodes"].append(
                {"id": 4, "name": "## process_group:init ##", "inputs": {"values": ["[{"]}, "attrs": []}
            ),
            r"nodes\[2\]: the process groups are",
        ),
        (lambda d: d["nodes"][1].update(name="aten::other"), "of another step than"),
    ],
)
def test_a_wrong_execution_trace_is_refused_in_one_line(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], words: str
) -> None:
    trace, _ = made().write(tmp_path)
    change(trace, edit)
    with pytest.raises(InputError, match=words) as refused:
        read_recorded([tmp_path])
    assert "\n" not in str(refused.value)


def test_files_of_one_rank_twice_are_refused(tmp_path: Path) -> None:
    made(0, 2).write(tmp_path, name="a")
    again = made(0, 2)
    again.write(tmp_path, name="b")
    with pytest.raises(InputError, match=r"kineto\.a\.json and .*kineto\.b\.json are both of rank 0"):
        read_recorded([tmp_path])


def test_two_execution_traces_of_one_rank_are_both_named(tmp_path: Path) -> None:
    trace, _ = made().write(tmp_path)
    for name in ("a", "b"):
        shutil.copy(trace, tmp_path / f"et.0{name}.json")
    with pytest.raises(
        InputError, match=r"et\.0\.json and .*et\.0a\.json are both execution traces of process"
    ):
        read_recorded([tmp_path])


def test_files_of_two_runs_are_refused(tmp_path: Path) -> None:
    made(0, 2).write(tmp_path)
    made(1, 4).write(tmp_path)
    with pytest.raises(InputError, match=r"is of 2 ranks and .* of 4; give one run's files"):
        read_recorded([tmp_path])


def test_ranks_that_reduce_other_bytes_are_not_of_one_step(tmp_path: Path) -> None:
    data_parallel(0).write(tmp_path)
    _, kineto = data_parallel(1).write(tmp_path)
    assert read_recorded([tmp_path]).communications[0].size_bytes == 2000
    kineto.write_text(kineto.read_text().replace('"In msg nelems": 1000', '"In msg nelems": 1500'))
    message = "sizes differ in 1 of 1 reduction, such as all_reduce of group 0 with 2,000 bytes on rank 0 and"
    with pytest.raises(InputError, match=f"{message} 3,000 bytes on rank 1: the files are not of one step"):
        read_recorded([tmp_path])


def test_ranks_without_a_common_step_are_refused(tmp_path: Path) -> None:
    made(0, 2).write(tmp_path)
    other = Recording(1, 2)
    other.step(2, 0, 100)
    other.host("aten::mm", 10, 20)
    other.write(tmp_path)
    with pytest.raises(InputError, match=r"no step was recorded by all ranks .*\[1\].*\[2\]"):
        read_recorded([tmp_path])


def test_processes_of_the_same_number_are_told_by_the_names_of_their_files(tmp_path: Path) -> None:
    for rank in range(2):
        trace, kineto = made(rank, 2, host_name=f"host{rank}").write(tmp_path)
        change(trace, lambda d: d.update(pid=1))
        change(kineto, lambda d: [event.update(pid=1) for event in d["traceEvents"]])
    step = read_recorded([tmp_path])
    assert step.ranks == (0, 1)
    assert "et.1.json taken as of rank 1 by its name, as process numbers do not say it" in step.notes


def test_processes_of_the_same_number_are_told_by_their_folders(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for rank, folder in enumerate(folders):
        folder.mkdir()
        trace, kineto = made(rank, 2).write(folder, name="x")
        change(trace, lambda d: d.update(pid=1))
        change(kineto, lambda d: [event.update(pid=1) for event in d["traceEvents"]])
    step = read_recorded(folders)
    assert step.ranks == (0, 1)
    assert "et.x.json taken as of rank 0 by its folder, as process numbers do not say it" in step.notes


@pytest.mark.parametrize(("kept", "words"), [(40, "cut off"), (10, "cut off")])
def test_a_packed_file_that_is_cut_off_is_refused(tmp_path: Path, kept: int, words: str) -> None:
    trace, kineto = made().write(tmp_path)
    packed = tmp_path / "kineto.json.gz"
    content = gzip.compress(kineto.read_bytes() + b" " * 10**5)
    packed.write_bytes(content[: len(content) * kept // 50])
    with pytest.raises(InputError, match=words):
        read_recorded([trace, packed])


def test_a_linked_trace_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "linked.json"
    path.write_text('{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "exclusive_dur": 3}]}')
    assert is_recorded(path)
    with pytest.raises(
        InputError, match="linked by chakra_trace_link; give the execution trace and the Kineto trace"
    ):
        read_recorded([path])
