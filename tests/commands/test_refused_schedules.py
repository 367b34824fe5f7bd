"""The commands synthesize and schedule refuse wrong input in a line, and are ended with the best so far."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from command_lines import error_of, run_dse, run_ok
from ring_files import HEADER, QUICK, RING, ring_file

from dse.base.errors import InputError
from dse.commands import schedule, synthesize


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return ring_file(tmp_path)


GOLDEN = Path(__file__).parents[1] / "golden" / "topologies"


def refused(
    main: Callable[[Sequence[str]], int], arguments: Sequence[str], folder: Path, patch: pytest.MonkeyPatch
) -> str:
    """The message of a user error, which a command prints in one line (tests of `dse.commands.cli`)."""
    patch.chdir(folder)
    with pytest.raises(InputError) as error:
        main(arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_invalid_schedule_is_exit_code_1_with_the_first_violation(ring: Path) -> None:
    file = ring.parent / "mine.jsonl"
    send = {"src": 0, "dst": 1, "chunk": 1, "start_ps": 0, "end_ps": 21471520}
    file.write_text(json.dumps(send) + "\n")
    done = run_dse("schedule", file, f"topology={ring}", "collective=all_gather", cwd=ring.parent)
    assert (done.code, done.err) == (1, "")
    assert "invalid: 13 violations" in done.out
    assert "rule 3: 0 -> 1, chunk 1, 0 to 21471520 ps: 0 never has the chunk" in done.out
    assert "rule 4: NPU 0 never gets chunk 1" in done.out


def test_a_program_of_a_runtime_that_is_wrong_is_exit_code_1(ring: Path) -> None:
    keys = (f"topology={ring}", *QUICK, "collective=all_reduce", "export=msccl")
    run_ok("synthesize", *keys, "-o", "out", cwd=ring.parent)
    file = ring.parent / "out" / "schedule.xml"
    assert run_ok("schedule", file, cwd=ring.parent).out.splitlines()[-1].split()[:2] == ["verdict", "valid:"]
    file.write_text(file.read_text().replace('hasdep="1"', 'hasdep="0"').replace('type="rrc"', 'type="r"'))
    done = run_dse("schedule", file, "limits=rccl", cwd=ring.parent)
    assert done.code == 1
    assert "verdict  invalid: " in done.out
    assert "GPU " in done.out
    message = "topology=ring.csv has no effect on the program of a runtime; leave topology out"
    assert message in run_dse("schedule", file, "topology=ring.csv", cwd=ring.parent).err
    (ring.parent / "own.xml").write_text("<algo>\n")
    done = run_dse("schedule", "own.xml", cwd=ring.parent)
    assert done.code == 2
    assert done.err == "error: own.xml, line 1: coll is ''; expected a name\n"


def test_an_xml_behind_a_byte_order_mark_is_refused_as_runtimes_do(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_bytes(b"\xef\xbb\xbf<algo>\n")
    done = run_dse("schedule", "own.xml", cwd=tmp_path)
    assert done.code == 2
    assert done.err.startswith("error: own.xml, line 1: '?<algo>' is no node; expected <TAG KEY=")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "topology is missing; write topology=FILE.csv, topology=torus__dim=[4,4] or system=NAME"),
        (("topology=none.csv",), "none.csv: cannot be read: No such file or directory"),
        (
            ("topology=rng__dim=[4]",),
            "allowed are grid, torus, fc, ring, tree, nx_GENERATOR; did you mean 'ring'?",
        ),
        (("topology=nothing",), "topology is 'nothing'; it must be a CSV file, or a name such as torus"),
        (("topology=bad.csv",), "bad.csv, line 4: links node 1 to itself"),
        (("topology=oneway.csv",), "topology has no way from NPU 1 to NPU 0, which all_gather needs"),
        (
            ("topology=ring.csv", "collective=gather", "root=4"),
            "root is '4'; it must be a whole number, 0 to 3",
        ),
        (("topology=ring.csv", "collective=scatter_9"), "root is 9; it must be 0 to 3, as the network has 4"),
        (("topology=ring.csv", "root=1"), "root=1 has no effect on all_gather; only broadcast, scatter"),
        (("topology=ring.csv", "collective=al_gather"), "collective is 'al_gather'; allowed are all_gather"),
        (
            ("topology=ring.csv", "chunks_per_npu=1000000000"),
            "chunks_per_npu is 1000000000, which makes 4000000000",
        ),
        (("topology=ring.csv", "chunks_per_npu=0"), "chunks_per_npu is '0'; it must be a whole number, 1 to"),
        (
            ("topology=ring.csv", "chunks_per_npu=auto"),
            "chunks_per_npu is 'auto', which cuts the bytes of the operation; write operation_bytes=BYTES",
        ),
        (
            ("topology=ring.csv", "chunks_per_npu=auto", "chunk_bytes=1", "operation_bytes=4"),
            "chunk_bytes=1 has no effect with operation",
        ),
        (
            ("topology=ring.csv", "chunks_per_npu=auto", "collective=own.json"),
            "chunks_per_npu=auto has no effect with a collective of your own",
        ),
        (
            ("topology=ring.csv", "collective=scatter", "synthesizer=trees"),
            "synthesizer is trees, but not every NPU gets all chunks of scatter",
        ),
        (("topology=ring.csv", "chunk_bytes=0"), "chunk_bytes is '0'; it must be a number of bytes above 0"),
        (("topology=ring.csv", "chunk_bytes=1e9"), "chunk_bytes is '1e9'; it must be a number of bytes"),
        (
            ("topology=ring.csv", "chunk_bytes=1", "operation_bytes=4"),
            "chunk_bytes=1 has no effect with operation",
        ),
        (("topology=ring.csv", "gb=1000"), "gb is '1000'; allowed are 1e9, gib"),
        (("topology=ring.csv", "clock=ms"), "clock is 'ms'; allowed are ps, ns"),
        (("topology=ring.csv", "seeds=1"), "unknown key seeds; allowed are topology"),
        (("topology=ring.csv", "seed=1", "seed=2"), "seed occurs twice, as '1' and '2'"),
        (("topology=ring.csv", "seed="), "seed is empty; write seed=VALUE"),
        (("topology=ring.csv", "trials=0"), "trials is '0'; it must be a whole number, 1 to"),
        (
            ("topology=ring.csv", "synthesizer=exact", "trials=3"),
            "trials=3 has no effect on synthesizer=exact",
        ),
        (
            ("topology=ring.csv", "num_beams=3"),
            "num_beams=3 has no effect on synthesizer=auto; write synthesizer=beam",
        ),
        (("topology=ring.csv", "synthesizer=autoo"), "synthesizer is 'autoo'; allowed are auto"),
        (("topology=ring.csv", "time_limit_s=0"), "time_limit_s is '0'; it must be a number above 0"),
        (
            ("topology=ring.csv", "switches=nodes"),
            "switches=nodes has no effect with topology; they are for system",
        ),
        (
            ("topology=ring.csv", "system=torus_4x4"),
            "topology=ring.csv has no effect with system; choose either",
        ),
        (("topology=fc__n=4", "npus=3"), "npus=3 has no effect on topology=fc__n=4"),
        (("topology=ring.csv", "npus=9"), "npus is 9; ring.csv has 4 nodes, so it must be 2 to 4"),
        (("topology=fc__n=4", "clock=ns", "chunk_bytes=0.5"), "a chunk takes 0 ns on a link of 1 GB/s"),
        (
            ("topology=ring.csv", "export=[msccl]"),
            "export=[msccl] has no effect without a folder; write -o DIR",
        ),
        (
            ("topology=ring.csv", "export=[mscclpp]", "limits=rccl", "-o", "out"),
            "limits=rccl has no effect without export=msccl; add it, or leave limits out",
        ),
        (
            ("topology=ring.csv", "export=msccl", "limits=nccl", "-o", "out"),
            "limits is 'nccl'; allowed are msccl-executor, rccl, msccl",
        ),
        (
            ("topology=ring.csv", "export=xml", "-o", "out"),
            "export is 'xml'; allowed are msccl, mscclpp, nccl, chakra, trace, csv, page",
        ),
        (
            ("topology=star.csv", "npus=2", "export=[chakra]", "-o", "out"),
            "Chakra traces know no switches, but the network has 1; synthesise with switches=unrolled",
        ),
        (("topology=ring.csv", "-o", "ring.csv"), "-o is 'ring.csv', but ring.csv is a file; name a folder"),
        (("topology=ring.csv", "-o"), "-o lacks its value; write -o DIR"),
        (("topology=ring.csv", "--show"), "--show has no effect; the page in DIR shows the schedule"),
        (("topology=ring.csv", "--seeds", "1"), "unknown option --seeds; allowed are KEY=VALUE"),
        (("ring.csv",), "'ring.csv' is no key; write KEY=VALUE, such as topology=FILE.csv"),
        (("topology=ring.csv", "collective=own.json"), "own.json: NPU 1 wants chunk 1, which no NPU has"),
        (("topology=ring.csv", "format=xml"), "format is 'xml'; allowed are table, json"),
        (("system=torus_4x4", "dimensions=[2]"), "network dimension 2: torus_4x4 has dimensions 0 to 1"),
        (("system=nothing",), "system"),
    ],
)
def test_bad_input_is_one_line(
    ring: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    (ring.parent / "bad.csv").write_text(f"2\n{HEADER}\n0,1,1,1\n1,1,1,1\n")
    star = "\n".join(("3", HEADER, "0,2,1,1", "2,0,1,1", "1,2,1,1", "2,1,1,1", ""))
    (ring.parent / "star.csv").write_text(star)
    (ring.parent / "oneway.csv").write_text(f"2\n{HEADER}\n0,1,1,1\n")
    own = {"chunks": 2, "preconditions": {"0": [0]}, "postconditions": {"1": [1]}}
    (ring.parent / "own.json").write_text(json.dumps(own))
    assert message in refused(synthesize.main, arguments, ring.parent, monkeypatch)


def test_a_time_limit_too_short_for_any_schedule_says_so(tmp_path: Path) -> None:
    line = ("topology=torus__dim=[20,20]", "time_limit_s=0.000001", "synthesizer=restarts")
    message = error_of("synthesize", *line, "-o", "out", cwd=tmp_path)
    assert message == (
        "time_limit_s is 1e-06, and was over when the 1600 links of torus__dim=[20,20] were made; "
        "give it more seconds, or take a smaller network"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "FILE is missing; write dse schedule FILE"),
        (("none.csv", "collective=all_gather"), "none.csv: cannot be read: No such file or directory"),
        (("out/schedule.csv", "topology=five.csv", "collective=all_gather"), "was made for another topology"),
        (
            ("out/schedule.csv", "topology=slow.csv", "collective=all_gather"),
            "its link 0 to 1 has 500 ns and 50 GB/s",
        ),
        (("alone.csv",), "collective is missing, and alone.csv does not say it; write collective=all_gather"),
        (("alone.csv", "collective=all_to_all"), "alone.csv: has 4 chunks, but all_to_all"),
        (("alone.csv", "collective=all_gather", "npus=4"), "npus=4 has no effect without topology or system"),
        (
            ("alone.jsonl", "collective=all_gather"),
            "topology is missing, and alone.jsonl does not list its links",
        ),
        (("out/schedule.csv", "seed=1"), "unknown key seed; allowed are topology"),
        (("out/schedule.csv", "other.csv"), "'other.csv' is no key"),
    ],
)
def test_a_schedule_that_cannot_be_judged_is_one_line(
    ring: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    folder = ring.parent
    assert synthesize.main([f"topology={ring}", *QUICK, "-o", str(folder / "out")]) == 0
    (folder / "alone.csv").write_bytes((folder / "out" / "schedule.csv").read_bytes())
    (folder / "alone.jsonl").write_bytes((folder / "out" / "schedule.jsonl").read_bytes())
    links = "\n".join(f"{i},{(i + s) % 5},500,50" for i in range(5) for s in (1, 4))
    (folder / "five.csv").write_text(f"5\n{HEADER}\n{links}\n")
    (folder / "slow.csv").write_text(RING.replace("500,50", "500,25"))
    assert message in refused(schedule.main, arguments, folder, monkeypatch)


def test_an_interrupt_keeps_the_best_so_far_that_the_bar_shows(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "dse", "synthesize", f"topology={GOLDEN / 'randhet_4_4_1_500_50.csv'}"]
    more = ["collective=all_to_all", "synthesizer=restarts", "trials=1000000000", "-o", "out"]
    terminal, stderr = os.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    with subprocess.Popen([*line, *more], cwd=tmp_path, stdout=subprocess.PIPE, stderr=stderr) as process:
        shown = b""
        while b"gap" not in shown:
            shown += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        os.close(stderr)
        with contextlib.suppress(OSError):  # the other side is closed
            while more_text := os.read(terminal, 4096):
                shown += more_text
        assert process.stdout is not None
        out = process.stdout.read()
    os.close(terminal)
    assert process.returncode == 130
    assert "bound 254.7 µs, gap".encode() in shown
    assert b"this is the best so far" in shown
    assert shown.endswith(b"interrupted\r\n")
    assert out.startswith(b"collective")
    run_ok("schedule", tmp_path / "out", cwd=tmp_path)
