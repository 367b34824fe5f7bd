"""`python -m dse validate` on runs of ASTRA-sim: equal, changed, filtered, deadlocked, printed with units."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from command_lines import (
    DP4_TP4_ON_DGX16,
    RING16,
    TINY_DGX16,
    astra_log,
    edit_json,
    error_of,
    export_case,
    run_dse,
    run_ok,
)

ALL_RANKS = [(rank, DP4_TP4_ON_DGX16) for rank in range(16)]

BOTH = "astra-sim-2025-04 and astra-sim-2026-03"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a point, with the log that ASTRA-sim's figures for it make; do not change it."""
    folder = tmp_path_factory.mktemp("runs") / "dp4_tp4"
    export_case(folder, *TINY_DGX16, "strategy.dp=4", "strategy.tp=4")
    (folder / "reference.log").write_text(astra_log(ALL_RANKS))
    (folder / "case.json").unlink()  # who runs ASTRA-sim does not write one
    return folder


@pytest.fixture
def case(exported: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(exported, tmp_path / "dp4_tp4"))


def test_a_case_folder_without_notes_is_equal(exported: Path) -> None:
    assert not (exported / "case.json").exists()
    done = run_ok("validate", exported, cwd=exported.parent)
    assert done.out == (
        f"{exported}: 1 case (0 deadlocks), 1 equal, 0 wrong\n"
        f"total: 1 case compared with {BOTH}, no mismatch\n"
    )


@pytest.mark.parametrize(
    ("metric", "expected", "got"),
    [
        ("wall_time_ns", 724_892, 724_891),
        ("exposed_comm_ns", 368_889, 368_890),
        ("peak_memory_bytes", 99_614_721, 99_614_720),
        ("compute_utilization_pct", 56.341, 56.34),
    ],
)
def test_one_changed_number_is_one_line_and_exit_code_1(
    case: Path, metric: str, expected: float, got: float
) -> None:
    changed = [(r, {**figures, metric: expected} if r == 5 else figures) for r, figures in ALL_RANKS]
    (case / "reference.log").write_text(astra_log(changed))
    done = run_dse("validate", case.name, cwd=case.parent)
    assert (done.code, done.err) == (1, "")
    assert [line for line in done.out.splitlines() if line.startswith("MISMATCH")] == [
        f"MISMATCH dp4_tp4: rank 5 {metric}: expected {expected}, got {got}"
    ]
    assert "1 case (0 deadlocks), 0 equal, 1 wrong" in done.out
    assert done.out.endswith(f"total: 1 case compared with {BOTH}, 1 mismatch in 1 case\n")


@pytest.mark.parametrize("percent", ["%", "$"])
def test_percent_and_dollar_are_the_same(case: Path, percent: str) -> None:
    (case / "reference.log").write_text(astra_log(ALL_RANKS, percent=percent))
    run_ok("validate", case, cwd=case.parent)


@pytest.mark.parametrize(("printed", "code"), [("95.00 MB", 0), ("95.01 MB", 1), ("0.09 GB", 1)])
def test_a_peak_memory_with_a_unit_is_compared_as_it_is_printed(case: Path, printed: str, code: int) -> None:
    (case / "reference.log").write_text(astra_log(ALL_RANKS, peak=printed))
    done = run_dse("validate", case, cwd=case.parent)
    assert done.code == code
    assert done.out.count(f"peak_memory_bytes: expected {printed}, got 95.00 MB") == 16 * code


def test_any_log_name_and_the_network_file_with_the_longer_ending_do(case: Path) -> None:
    (case / "reference.log").rename(case / "run.log")
    (case / "network.yml").rename(case / "network.yaml")
    run_ok("validate", case, cwd=case.parent)


def _as_stage_of_2026_writes(case: Path) -> None:
    """Its groups are named like the traces; the log is what the shell put into some file."""
    (case / "comm_group.json").rename(case / "trace.json")
    (case / "reference.log").rename(case / "log.txt")
    (case / "notes.txt").write_text("a run of last week\n")


def test_the_log_and_the_groups_are_found_by_what_is_in_them(case: Path) -> None:
    _as_stage_of_2026_writes(case)
    done = run_ok("validate", "dp4_tp4", cwd=case.parent)
    assert done.out.startswith("dp4_tp4: 1 case (0 deadlocks), 1 equal, 0 wrong\n")
    assert done.err == "note: dp4_tp4: took log.txt as log and trace.json as groups\n"
    assert run_ok("validate", ".", cwd=case).err == done.err


def test_notes_under_another_name_count_and_are_named(case: Path) -> None:
    (case / "mine.json").write_text('{"network_model": "congestion_aware"}')
    done = run_dse("validate", "dp4_tp4", cwd=case.parent)
    assert (done.code, done.err) == (1, "note: dp4_tp4: took mine.json as case.json\n")
    (case / "mine.json").write_text('{"options": ["--queues=2"]}')
    assert "mine.json: unknown option --queues" in run_dse("validate", "dp4_tp4", cwd=case.parent).err
    (case / "mine.json").unlink()
    for path in case.glob("*.et"):
        path.rename(case / f"rank_{path.name.split('.')[1]}.et")
    done = run_ok("validate", "dp4_tp4", cwd=case.parent)
    assert done.err == "note: dp4_tp4: took 16 files such as rank_0.et as traces\n"


def test_a_json_file_named_like_the_traces_need_not_be_groups(case: Path) -> None:
    (case / "comm_group.json").unlink()
    for content in ('{"traceEvents": [{"ph": "X"}]}', "[1]", "{}", "no JSON"):
        (case / "trace.json").write_text(content)
        done = run_dse("validate", "dp4_tp4", cwd=case.parent)
        assert (done.code, done.out) == (2, "")
        assert (
            "is a communicator group, but no groups are given: the folder has neither comm_group.json"
            in done.err
        )
        assert done.err.endswith("neither comm_group.json nor trace.json\n")


def test_several_files_that_could_be_the_log_are_named(case: Path) -> None:
    _as_stage_of_2026_writes(case)
    shutil.copy(case / "log.txt", case / "old.txt")
    done = run_dse("validate", "dp4_tp4", cwd=case.parent)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: dp4_tp4: 2 files could be the log (log.txt, old.txt); call the right one reference.log\n"
    )


def test_a_case_without_its_log_says_what_is_there(case: Path) -> None:
    (case / "reference.log").unlink()
    done = run_dse("validate", "dp4_tp4", cwd=case.parent)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "error: dp4_tp4: has system.json, network.yml, 16 traces such as trace.0.et, but no log (what "
        "ASTRA-sim printed: lines such as 'sys[0] …'); complete the case, or move it elsewhere\n"
    )


def test_options_of_the_command_line_count(tmp_path: Path) -> None:
    folder = tmp_path / "case"
    options = ["--num-queues-per-dim=2", "--injection-scale=3.0"]
    overrides = ("system.queues_per_dimension=2", "system.injection_scale=3")
    export_case(folder, *TINY_DGX16, "strategy.dp=4", "strategy.sp=4", *overrides)
    assert json.loads((folder / "case.json").read_text())["options"] == options
    run_ok("validate", folder, cwd=tmp_path)
    (folder / "case.json").unlink()
    assert run_dse("validate", folder, cwd=tmp_path).code == 1


def test_a_deadlock_is_equal_too(tmp_path: Path) -> None:
    folder = tmp_path / "deadlock"
    figures = export_case(folder, *RING16, "strategy.dp=4", "strategy.tp=4")
    assert figures == {}
    assert "1 case (1 deadlock), 1 equal, 0 wrong" in run_ok("validate", folder, cwd=tmp_path).out


def test_a_rank_that_never_finished_there_but_does_here_is_a_mismatch(case: Path) -> None:
    (case / "reference.log").write_text(astra_log(ALL_RANKS[:-1]))
    done = run_dse("validate", case, cwd=case.parent)
    assert done.code == 1
    assert "MISMATCH dp4_tp4: status: expected deadlock, got ok\n" in done.out
    assert "MISMATCH dp4_tp4: rank 15 finished: expected False, got True\n" in done.out


def test_folders_and_archives_of_cases(case: Path) -> None:
    runs = case.parent / "runs"
    for name in ("one", "two"):
        shutil.copytree(case, runs / name)
    shutil.rmtree(case)
    with tarfile.open(runs.parent / "runs.tar.gz", "w:gz") as archive:
        archive.add(runs, "runs")
    out = run_ok("validate", "runs", "runs.tar.gz", cwd=runs.parent).out
    assert out.splitlines() == [
        "runs: 2 cases (0 deadlocks), 2 equal, 0 wrong",
        "runs.tar.gz: 2 cases (0 deadlocks), 2 equal, 0 wrong",
        f"total: 4 cases compared with {BOTH}, no mismatch",
    ]


def test_cases_of_one_network_model_can_be_chosen(case: Path) -> None:
    runs = case.parent / "runs"
    for name in ("congestion_aware", "congestion_unaware"):
        shutil.copytree(case, runs / name)
        (runs / name / "case.json").write_text(json.dumps({"network_model": name}))
    out = run_ok("validate", "runs", "network_model=congestion_unaware", cwd=case.parent).out
    assert f"total: 1 case compared with {BOTH}, no mismatch" in out
    one = ("runs/congestion_aware", "network_model=congestion_unaware")
    message = "nothing was compared: no case has network_model=congestion_unaware"
    assert error_of("validate", *one, cwd=case.parent) == message
    done = run_ok("validate", "runs/congestion_unaware", *one, cwd=case.parent)
    assert done.err == "note: runs/congestion_aware: no case has network_model=congestion_unaware\n"
    everything = run_dse("validate", "runs", cwd=case.parent)
    assert everything.code == 1, "the log of a congestion-unaware run is not that of an aware one"
    assert "runs: 2 cases (0 deadlocks), 1 equal, 1 wrong" in everything.out


def record() -> dict[str, Any]:
    """The same point as a line of JSON."""
    kinds = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
    return {
        "id": "dp4_tp4",
        "model": {
            "input_dim": 4096,
            "output_dim": 4096,
            "d_model": 1024,
            "d_ff": 4096,
            "num_heads": 16,
            "seq_len": 512,
            "batch_size": 32,
            "num_layers": 4,
        },
        "strategy": {
            "dp": 4,
            "tp": 4,
            "sp": 1,
            "pp": 1,
            "weight_sharded": False,
            "activation_recompute": False,
        },
        "system": {
            "network": [
                {"topology": "FullyConnected", "npus": 8, "bandwidth_gbps": 128.5714, "latency_ns": 20},
                {"topology": "Switch", "npus": 2, "bandwidth_gbps": 25, "latency_ns": 100},
            ],
            "collectives": {kind: ["direct", "halvingDoubling"] for kind in kinds},
            "peak_tflops": 900,
            "memory_bandwidth_gbps": 3000,
            "scheduling_policy": "LIFO",
            "endpoint_delay": 10,
            "active_chunks_per_dimension": 4,
            "preferred_dataset_splits": 10,
            "collective_optimization": "localBWAware",
        },
        "network_model": "congestion_unaware",
        "expected": {
            "status": "ok",
            "ranks": DP4_TP4_ON_DGX16,
            "trace_counts": {"3": {"nodes": 247, "comp": 160, "coll": 87}},
            "communicator_groups": 24,
        },
    }


def test_a_line_of_json_is_a_case(tmp_path: Path) -> None:
    wrong = record()
    wrong["id"] = "wrong"
    wrong["expected"]["trace_counts"]["3"]["nodes"] = 248
    wrong["expected"]["communicator_groups"] = 23
    (tmp_path / "points.jsonl").write_text("\n".join(json.dumps(line) for line in (record(), wrong)))
    done = run_dse("validate", "points.jsonl", cwd=tmp_path)
    assert done.code == 1
    assert done.out.splitlines() == [
        "MISMATCH wrong: communicator_groups: expected 23, got 24",
        "MISMATCH wrong: rank 3 trace_counts.nodes: expected 248, got 247",
        "points.jsonl: 2 cases (0 deadlocks), 1 equal, 1 wrong",
        f"total: 2 cases compared with {BOTH}, 2 mismatches in 1 case",
    ]


def test_the_status_in_the_notes_must_fit_the_log(case: Path) -> None:
    (case / "case.json").write_text("{}")
    edit_json(case / "case.json", status="deadlock")
    done = run_dse("validate", case, cwd=case.parent)
    assert done.code == 2
    assert "status is deadlock, but the log reports 16 of 16 ranks, which is ok" in done.err


ASSERTION = "AstraSim: Device.cpp:26: void connect(DeviceId): Assertion `!connected(id)' failed.\n"
ABORTED = "Aborted (core dumped)\n"


@pytest.mark.parametrize(
    ("log", "notes", "why"),
    [
        (
            ASSERTION,
            {"status": "deadlock", "exit_code": -6},
            "line 1 of reference.log: AstraSim: Device.cpp:26: ",
        ),
        (astra_log(ALL_RANKS[:3]) + ABORTED, None, "line 34 of reference.log: Aborted (core dumped)"),
        ("", {"exit_code": 134}, "exit_code of case.json is 134"),
        ("", {"exit_code": -11}, "exit_code of case.json is -11"),
        ("", {"status": "crashed"}, "status of case.json is crashed"),
        (
            "terminate called after throwing an instance of 'std::out_of_range'\n",
            {},
            "line 1 of reference.log: ",
        ),
    ],
)
def test_a_crash_of_the_reference_is_no_deadlock(
    tmp_path: Path, log: str, notes: dict[str, Any] | None, why: str
) -> None:
    folder = tmp_path / "crashed"
    export_case(folder, *RING16, "strategy.dp=4", "strategy.tp=4")  # a deadlock here, were it compared
    (folder / "reference.log").write_text(log)
    if notes is not None:
        (folder / "case.json").write_text(json.dumps(notes))
    done = run_dse("validate", "crashed", cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    first, *others = done.out.splitlines()
    assert first.startswith(f"CRASHED crashed: the reference crashed: not comparable ({why}")
    assert others == [
        "crashed: 1 case (0 deadlocks), 0 equal, 0 wrong, 1 not comparable",
        f"total: 0 cases compared with {BOTH}, no mismatch; 1 not comparable",
    ]


@pytest.mark.parametrize(
    ("log", "notes"),
    [
        ("[2025-04-01 12:00:00.000] [workload] [critical] Aborted: Assertion x failed\n", {"exit_code": 0}),
        ("[2025-04-01 12:00:00.000] [workload] [critical] sys[0] never finishes: x\n", {"exit_code": 3}),
    ],
)
def test_a_logged_exception_and_the_exit_code_of_a_deadlock_are_no_crash(
    tmp_path: Path, log: str, notes: dict[str, Any]
) -> None:
    folder = tmp_path / "deadlock"
    export_case(folder, *RING16, "strategy.dp=4", "strategy.tp=4")
    (folder / "reference.log").write_text(log)
    (folder / "case.json").write_text(json.dumps(notes))
    assert "1 case (1 deadlock), 1 equal, 0 wrong" in run_ok("validate", folder, cwd=tmp_path).out


def test_a_congestion_aware_ring_of_two_is_named_as_our_extension(tmp_path: Path) -> None:
    folder = tmp_path / "ring2"
    ring = ("system.network=[{topology:Ring,npus:2,bandwidth_gbps:50,latency_ns:500}]", *RING16[2:])
    export_case(folder, "model=tiny", *ring, "strategy.dp=2", "system.network_model=congestion_aware")
    assert "finished" in (folder / "reference.log").read_text()  # we simulate it
    (folder / "reference.log").write_text(ASSERTION + ABORTED)
    (folder / "case.json").write_text(json.dumps({"network_model": "congestion_aware", "exit_code": -6}))
    done = run_dse("validate", "ring2", cwd=tmp_path)
    assert done.code == 1
    assert (
        "network.0 is a congestion-aware Ring of 2 NPUs, which the reference cannot connect; that we "
        "simulate it is an extension)" in done.out
    )


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ("reference.log", "no log (what ASTRA-sim printed: lines such as 'sys[0] …')"),
        ("system.json", "no system.json"),
        ("network.yml", "no network.yml"),
    ],
)
def test_an_incomplete_case_beside_a_good_one_is_named(case: Path, missing: str, named: str) -> None:
    runs = case.parent / "runs"
    for name in ("good", "nested/bad"):
        shutil.copytree(case, runs / name)
    (runs / "nested" / "bad" / missing).unlink()
    with tarfile.open(runs.parent / "runs.tar.gz", "w:gz") as archive:
        archive.add(runs, "runs")
    for path, place in (("runs", "nested/bad"), ("runs.tar.gz", "runs/nested/bad")):
        done = run_dse("validate", path, cwd=runs.parent)
        assert (done.code, done.out) == (2, "")
        expected = f"error: {path}: {place} has {named}; complete the case, or move it elsewhere\n"
        assert done.err == expected
