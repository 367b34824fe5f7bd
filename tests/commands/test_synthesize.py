"""The commands synthesize and schedule: what they write is valid, read again, and refused if it is wrong."""

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

from dse.base.errors import InputError
from dse.collectives.files.summary import times_as_long
from dse.commands import schedule, synthesize

HEADER = "Src,Dest,Latency (ns),Bandwidth (GB/s)"
RING = "\n".join(["4", HEADER, *(f"{i},{(i + s) % 4},500,50" for i in range(4) for s in (1, 3)), ""])
GOLDEN = Path(__file__).parents[1] / "golden" / "topologies"
QUICK = ("synthesizer=restarts", "trials=2")
ABOUT = "note: synthesizer=restarts is what synthesizer=fast runs on other networks"


def refused(
    main: Callable[[Sequence[str]], int], arguments: Sequence[str], folder: Path, patch: pytest.MonkeyPatch
) -> str:
    """The message of a user error, which a command prints in one line (tests of `dse.commands.cli`)."""
    patch.chdir(folder)
    with pytest.raises(InputError) as error:
        main(arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    file = tmp_path / "ring.csv"
    file.write_text(RING)
    return file


@pytest.mark.parametrize(
    ("collective", "time_ps"),
    [
        ("all_gather", 2 * 21471520),
        ("broadcast", 2 * 21471520),
        ("scatter_2", 2 * 21471520),
        ("gather", 2 * 21471520),
        ("reduce", 2 * 21471520),
        ("reduce_scatter", 2 * 21471520),
        ("all_reduce", 3 * 21471520),
    ],
)
def test_a_ring_of_four_is_solved_to_its_bound(ring: Path, collective: str, time_ps: int) -> None:
    done = run_ok(
        "synthesize", f"topology={ring}", f"collective={collective}", *QUICK, "format=json", cwd=ring.parent
    )
    found = json.loads(done.out)
    assert found["time_ps"] == time_ps
    assert found["npus"] == 4
    wanted = {
        *("collective", "npus", "chunks_per_npu", "chunk_bytes", "time_ps", "bound_ps", "bound", "optimal"),
        *("gap", "synthesizer", "seed", "cpu_s", "fixed_algorithms"),
    }
    assert wanted <= found.keys()
    assert found["optimal"] == (found["bound_ps"] == time_ps)
    assert min(found["fixed_algorithms"].values()) >= time_ps


def test_the_folder_has_the_schedule_and_the_other_command_finds_it_valid(ring: Path) -> None:
    folder = ring.parent / "out"
    done = run_ok(
        "synthesize",
        f"topology={ring}",
        *QUICK,
        "export=[msccl,mscclpp,chakra,trace]",
        "-o",
        folder,
        cwd=ring.parent,
    )
    assert "42.94 µs (42943040 ps)" in done.out
    assert "gap          0, optimal" in done.out
    assert done.err.splitlines() == [
        ABOUT,
        "note: this is optimal for one chunk per NPU; smaller chunks may take as little as 32.96 µs: "
        "chunks_per_npu=auto operation_bytes=1048576 tries them",
        f"note: stored in {folder}",
    ]
    assert "as Chakra    42.94 µs (42942 ns), 1.04 ns less than the schedule (0.99998 times)\n" in done.out
    assert json.loads((folder / "summary.json").read_text())["chakra_time_ns"] == 42942
    names = {path.name for path in folder.iterdir()}
    assert names == {
        *("index.html", "schedule.csv", "schedule.jsonl", "schedule.xml", "summary.json", "topology.csv"),
        *("schedule.mscclpp.json", "schedule.mscclpp.inplace.json"),
        *("trace.json", "schedule.0.et", "schedule.1.et", "schedule.2.et", "schedule.3.et"),
    }
    for arguments in (
        (folder,),
        (folder / "schedule.jsonl",),
        (folder / "schedule.csv", f"topology={ring}", "collective=all_gather"),
        (folder / "schedule.jsonl", "--topology", ring, "--collective", "all_gather"),
    ):
        verdict = json.loads(run_ok("schedule", *arguments, "format=json", cwd=ring.parent).out)
        assert verdict["valid"]
        assert verdict["time_ps"] == verdict["bound_ps"] == 42943040
    for name in ("schedule.xml", "schedule.mscclpp.json", "schedule.mscclpp.inplace.json"):
        found = json.loads(run_ok("schedule", folder / name, "format=json", cwd=ring.parent).out)
        assert (found["valid"], found["collective"], found["npus"]) == (True, "allgather", 4)
    shown = run_ok("schedule", folder, cwd=ring.parent).out
    assert run_ok("schedule", folder.rename(ring.parent / "kept.json"), cwd=ring.parent).out == shown
    assert shown.splitlines()[0] == "schedule  all_gather on 4 NPUs and 8 links, 12 sends"
    assert shown.splitlines()[-1] == "verdict   valid"


def test_a_plan_says_that_it_needs_switches_that_add(tmp_path: Path) -> None:
    network = ("system=dgx16", "dimensions=[1]", "system.network.1.npus=8", "switches=nodes")
    words = (*network, "collective=all_reduce", "export=[mscclpp]", "trials=1", "-o", "star")
    row = (
        "as MSCCL++      at most 2 blocks a GPU and 5 steps a block; interpreted: right, no race, no deadlock"
    )
    assert (
        f"{row}; 8 operations on NVLink switches, from sm_90 on"
        in run_ok("synthesize", *words, cwd=tmp_path).out
    )
    shown = run_ok("schedule", "star/schedule.mscclpp.inplace.json", cwd=tmp_path).out
    assert "needs    NVLink switches that add and copy, sm_90 or later: 8 operations" in shown
    others = ("collective=all_gather", "export=[mscclpp]", "trials=1", "-o", "passive", "switch_copies=none")
    passive = run_ok("synthesize", *network, *others, "switch_adds=none", cwd=tmp_path).out
    assert "NVLink" not in passive


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


def test_several_sizes_are_a_library_whose_ranges_meet(tmp_path: Path) -> None:
    keys = ("topology=ring__dim=[4]__alpha=500__beta=50", "trials=1", "collective=all_gather")
    sizes = ("operation_bytes=[1KiB,64KiB,4MiB]", "export=[msccl,mscclpp,nccl]")
    done = run_ok("synthesize", *keys, *sizes, "-o", "library", cwd=tmp_path)
    rows = [line.split(",") for line in done.out.splitlines()[1:]]
    assert (tmp_path / "library" / "library.csv").read_text() == done.out
    programs = [row for row in rows if row[5].endswith(".xml")]
    assert [row[3] for row in programs] == sorted((row[3] for row in programs), key=int)
    assert programs[0][1] == "0"
    assert programs[-1][2] == "0"
    assert [int(row[2]) + 1 for row in programs[:-1]] == [int(row[1]) for row in programs[1:]]
    for size, least, most, *_, file in rows:
        text = (tmp_path / "library" / file).read_text()
        assert (f'minBytes="{least}" maxBytes="{most}"' in text) == file.endswith(".xml")
        assert int(least) <= 4 * int(size) <= (int(most) or 1 << 62)  # NCCL counts what all NPUs have
        run_ok("schedule", f"library/{file}", cwd=tmp_path)
    table = (tmp_path / "library" / "nccl_tuner.csv").read_text().splitlines()
    assert table[0].startswith("# ")  # NCCL's plugin takes any other line for a choice, a header too
    assert [line.split(",")[:4] for line in table[1:]] == [
        ["allgather", row[1], row[2] if row[2] != "0" else str((1 << 63) - 1), "ring"] for row in programs
    ]
    for line, message in (
        (("operation_bytes=[1KiB,1MiB]", "export=msccl"), "has no effect without a folder; write -o DIR"),
        (("operation_bytes=[1KiB,1MiB]", "-o", "a"), "several sizes are a library; add export=msccl"),
        (("operation_bytes=1MiB", "export=nccl", "-o", "a"), "export=nccl is a table over sizes"),
        (("operation_bytes=[1KiB]", "export=nccl", "collective=gather", "-o", "a"), "nccl: no algorithm"),
    ):
        others = [key for key in keys if not any("collective" in each for each in line) or key != keys[2]]
        done = run_dse("synthesize", *others, *line, cwd=tmp_path)
        assert done.code == 2
        assert message in done.err


def test_a_system_s_own_network_counts_2_to_the_30_bytes(tmp_path: Path) -> None:
    done = run_ok("synthesize", "system=torus_4x4", *QUICK, "format=json", cwd=tmp_path)
    found = json.loads(done.out)
    assert (found["npus"], found["links"], found["gb"]) == (16, 64, "gib")
    # 15 chunks come into an NPU over 4 links: 4 turns of 50 ns + 1 MiB / 100 GiB/s.
    assert found["bound_ps"] == 4 * (50_000 + 9_765_625)
    line = run_ok("synthesize", "system=torus_4x4", "dimensions=[0]", *QUICK, "format=json", cwd=tmp_path)
    assert json.loads(line.out)["npus"] == 4


def test_bean_tacos_s_options_mean_the_same(tmp_path: Path) -> None:
    line = (
        "--topology",
        "torus__dim=[3,3]",
        "--collective",
        "broadcast_4",
        "--synthesizer",
        "multiple_tacos",
    )
    done = run_ok(
        "synthesize", *line, "--num_trials", "3", "--seed", "5", "--save", "--verbose", cwd=tmp_path
    )
    assert "broadcast, root 4, 1 chunk of 1048576 bytes" in done.out
    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name == "synthesis-broadcast-torus__dim__3_3_"
    assert json.loads((folder / "summary.json").read_text())["seed"] == 5


def test_sizes_that_do_not_divide_are_rounded_up_and_reported(ring: Path) -> None:
    line = (f"topology={ring}", "collective=all_reduce", "operation_bytes=1000001", *QUICK)
    done = run_ok("synthesize", *line, "format=json", cwd=ring.parent)
    found = json.loads(done.out)
    assert (found["chunk_bytes"], found["operation_bytes"], found["padding_bytes"]) == (250001, 1000001, 3)
    assert done.err.splitlines() == [
        ABOUT,
        "note: operation_bytes does not divide: 3 bytes of padding are sent too",
    ]


def test_the_number_of_chunks_is_chosen_by_the_time_of_all(tmp_path: Path) -> None:
    """A broadcast over a line of four: few chunks fill it slowly, many pay the latency often."""
    line = "\n".join(
        ["4", HEADER, *(f"{a},{b},500,50" for i in range(3) for a, b in ((i, i + 1), (i + 1, i)))]
    )
    (tmp_path / "line.csv").write_text(f"{line}\n")
    keys = ("topology=line.csv", "collective=broadcast", "operation_bytes=1MiB", "trials=2")
    found = json.loads(
        run_ok("synthesize", *keys, "chunks_per_npu=auto", "format=json", "-o", "out", cwd=tmp_path).out
    )
    # k chunks take k + 2 steps of 500 ns and 1 MiB / k at 50 bytes a ns, so that 8 beat 4 and 16.
    times = {int(k): time_ps for k, time_ps in found["split"]["times_ps"].items()}
    assert times[4] == 6 * (500_000 + 5_242_880)
    assert times[8] == found["time_ps"] == 10 * (500_000 + 2_621_440)
    assert found["split"]["chunks_per_npu"] == found["chunks_per_npu"] == 8
    assert "no schedule takes less" in found["split"]["left_out"]["64"]
    assert run_ok("schedule", "out", cwd=tmp_path)
    for k in (4, 16):
        one = json.loads(run_ok("synthesize", *keys, f"chunks_per_npu={k}", "format=json", cwd=tmp_path).out)
        assert one["time_ps"] > found["time_ps"]
        assert "split" not in one


def test_own_conditions_are_read_from_json(ring: Path) -> None:
    own = ring.parent / "own.json"
    conditions = {"preconditions": {"0": [0, 1]}, "postconditions": {"2": [0], "1": [1]}}
    own.write_text(json.dumps({"chunk_size": 1048576, "chunks": 2, **conditions}))
    folder = ring.parent / "out"
    run_ok("synthesize", f"topology={ring}", f"collective={own}", *QUICK, "-o", folder, cwd=ring.parent)
    assert json.loads((folder / "summary.json").read_text())["time_ps"] == 2 * 21471520
    run_ok("schedule", folder, cwd=ring.parent)
    run_ok("schedule", folder / "schedule.csv", f"topology={ring}", f"collective={own}", cwd=ring.parent)


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


RING8 = ("topology=ring__dim=[8]__alpha=500__beta=50", "trials=2")


def test_smaller_chunks_are_hinted_at_where_the_bounds_leave_room_for_them(tmp_path: Path) -> None:
    done = run_ok("synthesize", *RING8, "collective=broadcast", cwd=tmp_path)
    assert done.err == (
        "note: this is optimal for one chunk per NPU; smaller chunks may take as little as 21.85 µs: "
        "chunks_per_npu=auto operation_bytes=1048576 tries them\n"
    )
    finer = ("collective=broadcast", "chunks_per_npu=auto", "operation_bytes=1048576", "format=json")
    data = json.loads(run_ok("synthesize", *RING8, *finer, cwd=tmp_path).out)
    assert data["time_ps"] < 85_886_080  # of one chunk


def test_smaller_chunks_are_not_hinted_at_where_none_can_be_faster(tmp_path: Path) -> None:
    line = ("collective=all_reduce", "chunk_bytes=131072")
    assert run_ok("synthesize", *RING8, *line, cwd=tmp_path).err == ""


def test_a_fixed_algorithm_that_takes_a_little_longer_is_not_called_equally_long() -> None:
    assert [times_as_long(ratio) for ratio in (1, 1.00268, 1.4937)] == [
        "equally long",
        "1.00268 times",
        "1.49 times",
    ]


def test_a_fixed_algorithm_that_takes_as_long_says_so(tmp_path: Path) -> None:
    done = run_ok("synthesize", *RING8, "collective=broadcast", cwd=tmp_path)
    assert "fixed        biring 85.89 µs, equally long, the best\n" in done.out
