"""The commands synthesize and schedule: what they write is valid, read again, and refused if it is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import run_dse, run_ok
from ring_files import HEADER, QUICK, ring_file

from dse.collectives.files.summary import times_as_long


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return ring_file(tmp_path)


ABOUT = "note: synthesizer=restarts is what synthesizer=fast runs on other networks"


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
