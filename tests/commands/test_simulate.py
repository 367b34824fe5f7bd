"""`dse simulate` on folders as users have them, and the verbs that answer about its studies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from command_lines import error_of, run_dse, run_ok
from job_folders import chakra_folder, recorded_folder

from dse.base.trace_nodes import UINT64
from dse.testing.builders import ALL_REDUCE, coll, comp, encode


def test_a_folder_is_a_table_of_its_classes_of_ranks(tmp_path: Path) -> None:
    chakra_folder(tmp_path / "job")
    (tmp_path / "job" / "system.json").rename(tmp_path / "job" / "mine.json")
    done = run_ok("simulate", "job", "--explain", "timeline=t.json.gz", "-o", "p.html", cwd=tmp_path)
    lines = done.out.splitlines()
    assert lines[0] == "job: 4 ranks, 12 nodes, on the system beside them, as astra-sim-2025-04"
    assert lines[2].split() == ["ranks", "finish", "compute", "communication", "exposed", "memory"]
    assert [line.split()[0] for line in lines[3:5]] == ["0-1", "2-3"]
    assert "as rank 2 spends it:" in done.out
    assert done.err.splitlines() == [
        "note: job: took mine.json as system",
        "note: wrote t.json.gz",
        "note: wrote p.html",
    ]
    assert (tmp_path / "p.html").read_text().startswith("<!doctype html>")
    (entry,) = [json.loads(run_ok("simulate", "job", "--json", cwd=tmp_path).out)]
    assert [each["ranks"] for each in entry["rank_classes"]] == [[0, 1], [2, 3]]
    files = sorted(str(path) for path in (tmp_path / "job").iterdir())
    assert run_ok("simulate", *files, cwd=tmp_path).out.splitlines()[2:] == lines[2:5]


def test_a_deadlock_says_what_holds_whom_and_ends_with_1(tmp_path: Path) -> None:
    ranks = [[coll(1, ALL_REDUCE, 100)], [coll(1, ALL_REDUCE, 100), coll(2, ALL_REDUCE, 100)]]
    chakra_folder(tmp_path / "job", ranks)
    (tmp_path / "job" / "comm_group.json").unlink()
    done = run_dse("simulate", "job", cwd=tmp_path)
    assert done.code == 1
    assert "deadlock: 1 of 2 ranks never finish" in done.out
    assert "what holds the others:" in done.out


def test_a_study_of_runs_is_ranked_explained_drawn_and_written(tmp_path: Path) -> None:
    chakra_folder(tmp_path / "job")
    keys = ("links.bandwidth_factor=1,2", "study=runs")
    done = run_ok("simulate", "job", *keys, cwd=tmp_path)
    assert "note: 2 of 2 were computed" in done.err
    assert "note: 0 of 2 were computed" in run_ok("simulate", "job", *keys, cwd=tmp_path).err
    first = run_ok("best", "results/runs", cwd=tmp_path).out.splitlines()[1]
    assert first.split()[:3] == ["its", "own", "2"]
    assert "links.bandwidth_factor=2" in run_ok("explain", "results/runs", cwd=tmp_path).out
    assert run_ok("timeline", "results/runs", cwd=tmp_path).out == "results/runs.trace.json: written\n"
    assert run_ok("report", "results/runs", cwd=tmp_path).out == "results/runs.html: written\n"
    assert "links.bandwidth_factor=1" in (tmp_path / "results" / "runs.html").read_text()
    assert "rows of type run of traces, and this answers" in error_of("status", "results/runs", cwd=tmp_path)
    message = error_of("best", "results/runs", "top=3", cwd=tmp_path)
    assert message == "top has no effect on a study of runs of traces; allowed are --json"


def test_the_rows_of_changed_traces_give_way_to_new_ones(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "step")
    ask = ("simulate", "step", "kernels.matmul=1,2", "study=runs")
    run_ok(*ask, cwd=tmp_path)
    kineto = folder / "kineto.1.json"
    kineto.write_text(kineto.read_text().replace('"dur": 150', '"dur": 140'))
    stale = error_of("explain", "results/runs", cwd=tmp_path)
    assert stale.endswith("run dse simulate again, with the same study: then the new rows count")
    run_ok(*ask[:2], "kernels.matmul=2", ask[3], cwd=tmp_path)
    done = run_ok("best", "results/runs", cwd=tmp_path)
    assert "note: step: 2 rows left out, of files or systems as they were before a change" in done.err
    assert len(done.out.splitlines()) == 2
    run_ok(*ask, cwd=tmp_path)
    rows = json.loads(run_ok("best", "results/runs", "--json", cwd=tmp_path).out)
    assert sorted(row["asked"] for row in rows) == ['{"kernels.matmul": "1"}', '{"kernels.matmul": "2"}']
    key = f"point={rows[1]['key']}"
    assert "kernels.matmul=1" in run_ok("explain", "results/runs", key, cwd=tmp_path).out
    run_ok("report", "results/runs", cwd=tmp_path)
    shutil.rmtree(folder)  # now nothing tells which rows are new: their keys tell them apart
    lines = run_ok("best", "results/runs", cwd=tmp_path).out.splitlines()
    assert len({tuple(line.split()[:4]) for line in lines[1:]}) == 4


def test_a_recorded_step_is_compared_with_what_was_measured_first(tmp_path: Path) -> None:
    recorded_folder(tmp_path / "step")
    done = run_ok("simulate", "step", "overlap=recorded,perfect", cwd=tmp_path)
    lines = done.out.splitlines()
    assert lines[2] == "the step played again, against what was measured:"
    assert lines[4].split() == ["0", "600", "µs", "600", "µs", "+0.0", "%"]
    assert done.out.index("measured:") < done.out.index("overlap")
    assert "note: step: took 4 files as a recorded step" in done.err
    assert "overlap" in run_ok("simulate", "step", "overlap=perfect", cwd=tmp_path).out.splitlines()[-2]
    done = run_dse("simulate", "step", "work.factor=2", "work.ranks=[0]", "kernels.copy=1,2", cwd=tmp_path)
    assert done.code == 1
    failed = "note: as recorded kernels.copy=2 work.factor=2 work.ranks=[0] failed: kernels.copy is 2, but"
    assert failed in done.err
    more = run_ok("simulate", "step", "ranks.factor=1,2", cwd=tmp_path)
    assert "ranks.factor=2:\nnote: 2 ranks were added by symmetry: each behaves as a recorded one" in more.out
    data = json.loads(run_ok("simulate", "step", "ranks.factor=2", "--json", cwd=tmp_path).out)
    assert [note.split(" by ")[0] for note in data["assumed"]] == ["2 ranks were added"]
    priced = ("system=torus_4x4", "base_system=torus_4x4", "ranks.factor=2")
    assert "torus_4x4" in run_ok("simulate", "step", *priced, cwd=tmp_path).out


def test_a_system_that_does_not_fit_is_a_row_of_a_list_and_an_error_alone(tmp_path: Path) -> None:
    chakra_folder(tmp_path / "job")
    message = "the workload has 4 ranks, but the network has 16 NPUs"
    assert error_of("simulate", "job", "system=torus_4x4", cwd=tmp_path) == message
    four = ("system=torus_4x4,job/mine.yaml",)
    (tmp_path / "job" / "mine.yaml").write_text(
        "name: mine\nnetwork:\n  - {topology: Ring, npus: 4, bandwidth_gbps: 100, latency_ns: 50}\n"
        "collectives: {all_reduce: [ring], all_gather: [ring], reduce_scatter: [ring], all_to_all: [ring]}\n"
        "peak_tflops: 900\nmemory_bandwidth_gbps: 3000\ntrack_local_memory: false\n"
    )
    done = run_dse("simulate", "job", *four, cwd=tmp_path)
    assert done.code == 1
    assert done.out.startswith("job: 4 ranks, 12 nodes, on job/mine.yaml")
    assert f"note: torus_4x4 failed: {message}" in done.err
    assert [line.split()[1] == "failed" for line in done.out.splitlines()[3:5]] == [True, False]


def test_a_study_of_a_step_without_a_measured_time_says_so(tmp_path: Path) -> None:
    (tmp_path / "converted").mkdir()
    node = comp(1, micros=100)
    node["attributes"]["rf_id"] = (UINT64, 1)
    (tmp_path / "converted" / "chakra.0.et").write_bytes(encode([node]))
    run_ok("simulate", "converted", "work.factor=1,2", "study=runs", cwd=tmp_path)
    done = run_ok("best", "results/runs", cwd=tmp_path)
    assert done.err == (
        "note: converted: the unchanged replay has no measured time, so no what-if of it can be trusted\n"
    )


def test_keys_that_have_no_effect_are_refused(tmp_path: Path) -> None:
    chakra_folder(tmp_path / "job")
    lists = ("links.bandwidth_factor=1,2", "timeline=t.json")
    assert "timeline is of one case" in error_of("simulate", "job", *lists, cwd=tmp_path)
    assert "has no effect without a study" in error_of("simulate", "job", "threads=2", cwd=tmp_path)
    assert "it is NAME.json or NAME.json.gz" in error_of("simulate", "job", "timeline=t.txt", cwd=tmp_path)
    assert "it is a page, NAME.html" in error_of("simulate", "job", "-o", "p.txt", cwd=tmp_path)
    assert "has no effect on recorded" not in error_of("simulate", "nowhere", cwd=tmp_path)
