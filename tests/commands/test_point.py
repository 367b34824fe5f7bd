"""`python -m dse point`: the figures of one point, and files that other programs can run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import DP4_TP4_ON_DGX16, RING16, TINY_DGX16, run_dse, run_ok

from dse.answers.fidelities import REFERENCE
from dse.inputs.systems import read_system
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import read_groups, read_workload
from dse.studies.config import compose_config

PIPELINE = (
    *TINY_DGX16,
    *("strategy.dp=2", "strategy.tp=2", "strategy.sp=2", "strategy.pp=2"),
    "strategy.activation_recompute=true",
)


@pytest.mark.parametrize(
    ("strategy", "wall_time_ns", "peak_memory_bytes"),
    [
        (("strategy.dp=8", "strategy.sp=8", "strategy.activation_recompute=true"), 4088264658, 67022880768),
        (("strategy.dp=32", "strategy.sp=2"), 3206889878, 143896084480),
    ],
)
def test_llama70b_on_system1_is_to_the_cycle(
    tmp_path: Path, strategy: tuple[str, ...], wall_time_ns: int, peak_memory_bytes: int
) -> None:
    done = run_ok("point", "system=system1", "model=llama70b", *strategy, "format=json", cwd=tmp_path)
    (ranks,) = json.loads(done.out)["rank_classes"]
    assert ranks["ranks"] == list(range(64))
    assert ranks["metrics"]["wall_time_ns"] == wall_time_ns
    assert ranks["metrics"]["peak_memory_bytes"] == peak_memory_bytes


def test_json_has_every_metric_of_every_rank_class(tmp_path: Path) -> None:
    done = run_ok("point", *TINY_DGX16, "strategy.dp=4", "strategy.tp=4", "format=json", cwd=tmp_path)
    answer = json.loads(done.out)
    assert (answer["model"], answer["system"], answer["status"]) == ("tiny", "dgx16", "ok")
    assert answer["strategy"]["dp"] == 4
    assert answer["fractional"] is False
    (entry,) = answer["rank_classes"]
    assert entry["ranks"] == list(range(16))
    metrics = {
        key: round(value, 3) if isinstance(value, float) else value for key, value in entry["metrics"].items()
    }
    assert metrics == {**DP4_TP4_ON_DGX16, "cpu_time_ns": 0, "remote_memory_time_ns": 0}
    assert (entry["trace"]["nodes"], entry["trace"]["comp"], entry["trace"]["coll"]) == (247, 160, 87)


def test_pipeline_stages_are_classes_of_their_own(tmp_path: Path) -> None:
    done = run_ok("point", *PIPELINE, "format=json", cwd=tmp_path)
    classes = json.loads(done.out)["rank_classes"]
    figures = {
        rank: (entry["metrics"]["wall_time_ns"], entry["metrics"]["peak_memory_bytes"])
        for entry in classes
        for rank in entry["ranks"]
    }
    assert [figures[rank] for rank in range(16)] == [(1870839, 76546048)] * 8 + [(1849058, 66060288)] * 8


def test_the_table_names_classes_metrics_and_traces(tmp_path: Path) -> None:
    out = run_ok("point", *PIPELINE, cwd=tmp_path).out
    lines = out.splitlines()
    assert lines[:5] == [
        f"tiny on dgx16: dp2 tp2 sp2 pp2 recompute, {REFERENCE}",
        "status ok",
        "",
        "step time    1.871 ms, rank 0 ends last",
        "peak memory  76.55 MB, of rank 0",
    ]
    assert lines[5] == "tokens/s     8.758M, 547.3k per NPU"
    assert lines[6].startswith("MFU          10.7 %, model FLOPs of the step / (step time x NPUs x peak)")
    assert "rank class 0: 8 ranks (0-7)" in out
    assert "rank class 1: 8 ranks (8-15)" in out
    assert "1870839" in out
    assert "76546048 (76.55 MB)" in out
    assert "sends" in out


def test_many_classes_of_one_kind_share_a_block_that_names_the_slowest(tmp_path: Path) -> None:
    arguments = ("system=mesh_8x8", "model=tiny", "strategy.dp=8", "strategy.tp=8")
    classes = json.loads(run_ok("point", *arguments, "format=json", cwd=tmp_path).out)["rank_classes"]
    walls = {rank: entry["metrics"]["wall_time_ns"] for entry in classes for rank in entry["ranks"]}
    assert len(classes) > 30
    out = run_ok("point", *arguments, cwd=tmp_path).out
    assert "rank class" not in out
    assert f"64 ranks (0-63) in {len(classes)} classes that do as much\n" in out
    slowest = min(rank for rank in walls if walls[rank] == max(walls.values()))
    (line,) = (line for line in out.splitlines() if "wall_time_ns" in line)
    assert line.split() == ["wall_time_ns", *map(str, (min(walls.values()), *[max(walls.values())] * 2))]
    assert f"greatest     rank {slowest}, slowest\n" in out
    assert f"step time    3.814 ms, rank {slowest} ends last\n" in out
    assert len(out.splitlines()) < 30


def test_json_has_the_headline(tmp_path: Path) -> None:
    answer = json.loads(run_ok("point", *PIPELINE, "format=json", cwd=tmp_path).out)
    assert (answer["wall_time_ns"], answer["slowest_rank"]) == (1870839, 0)
    assert (answer["peak_memory_bytes"], answer["fullest_rank"]) == (76546048, 0)
    assert 10 < answer["mfu_pct"] < 11
    assert "reference's graph" in answer["mfu_note"]
    arguments = (*PIPELINE, "system.track_local_memory=false")
    out = run_ok("point", *arguments, cwd=tmp_path).out
    assert "\npeak memory  not tracked\n" in out


def test_exported_files_are_simulated_as_their_point_was(tmp_path: Path) -> None:
    options = ("system.network_model=congestion_aware", "system.queues_per_dimension=2")
    done = run_ok("point", *PIPELINE, *options, "export=files", "format=json", cwd=tmp_path)
    again = run_ok("simulate", "files", "--json", cwd=tmp_path)
    assert json.loads(again.out)["wall_time_ns"] == json.loads(done.out)["wall_time_ns"]


@pytest.mark.parametrize("options", [(), ("system.queues_per_dimension=2", "system.injection_scale=3")])
def test_exported_files_give_the_same_metrics(tmp_path: Path, options: tuple[str, ...]) -> None:
    folder = tmp_path / "files"
    done = run_ok("point", *PIPELINE, *options, f"export={folder}", "format=json", cwd=tmp_path)
    answer = json.loads(done.out)
    system_files = ("system.json", "network.yml", "remote_memory.json")
    further_files = {"comm_group.json", "case.json", *system_files}
    expected_files = {f"trace.{rank}.et" for rank in range(16)} | further_files
    assert {path.name for path in folder.iterdir()} == expected_files
    command_line = dict(option.split("=", 1) for option in answer["export_options"])
    assert command_line["--workload-configuration"] == f"{folder}/trace"
    assert command_line["--comm-group-configuration"] == f"{folder}/comm_group.json"

    system = read_system(
        *(folder / name for name in system_files),
        name="dgx16",
        network_model="congestion_unaware",
        queues_per_dimension=int(command_line.get("--num-queues-per-dim", 1)),
        injection_scale=float(command_line.get("--injection-scale", 1.0)),
    )
    assert system == compose_config([*PIPELINE, *options]).system
    workload = read_workload(
        [folder / f"trace.{rank}.et" for rank in range(16)], read_groups(folder / "comm_group.json")
    )
    outcome = NativeSimulator().simulate(workload, system)
    for entry in answer["rank_classes"]:
        for rank in entry["ranks"]:
            metrics = outcome.rank(rank)
            assert metrics is not None
            assert {key: getattr(metrics, key) for key in entry["metrics"]} == entry["metrics"]


def test_the_table_ends_with_the_options_of_astrasim(tmp_path: Path) -> None:
    out = run_ok("point", *TINY_DGX16, "strategy.dp=16", "export=a b", cwd=tmp_path).out
    assert "exported to a b; run it with\n  '--workload-configuration=a b/trace' \\\n" in out


def test_a_folder_whose_groups_astrasim_would_ignore_is_refused(tmp_path: Path) -> None:
    done = run_dse("point", *TINY_DGX16, "strategy.dp=16", "export=not_empty", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: export is 'not_empty': ASTRA-sim ignores a groups file")
    assert not (tmp_path / "not_empty").exists()


def test_a_deadlock_says_who_waits_for_whom_and_exits_with_1(tmp_path: Path) -> None:
    arguments = (*RING16, "strategy.dp=4", "strategy.tp=4")
    done = run_dse("point", *arguments, cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    assert "status deadlock" in done.out
    assert "step time" not in done.out
    assert "rank class 0: 16 ranks (0-15)\n  never finishes" in done.out
    assert "16 x all-reduce: it waits for messages that are never sent" in done.out
    assert "waits for rank" in done.out

    done = run_dse("point", *arguments, "format=json", cwd=tmp_path)
    assert done.code == 1
    answer = json.loads(done.out)
    assert answer["status"] == "deadlock"
    assert answer["wall_time_ns"] is answer["mfu_pct"] is None
    assert {node["rank"] for node in answer["blocked"]} == set(range(16))
    assert all(entry["metrics"] is None for entry in answer["rank_classes"])
    assert all(node["cause"] for node in answer["blocked"])


def test_fractional_shards_are_said(tmp_path: Path) -> None:
    arguments = (*TINY_DGX16, "strategy.tp=16", "model.input_dim=50257")
    out = run_ok("point", *arguments, cwd=tmp_path).out
    assert "status ok, fractional shards are cut" in out
    assert "MFU          left out\n             shards are cut to whole numbers" in out


def test_help_and_configuration(tmp_path: Path) -> None:
    assert "strategy.weight_sharded=true" in run_ok("point", "--help", cwd=tmp_path).out
    assert "\nstrategy:\n  dp: 4\n" in run_ok("point", "--cfg", "strategy.dp=4", cwd=tmp_path).out
