"""Runs of traces: what is found, what cases depend on, and that figures are those of engine and replay."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from job_folders import MEASURED_US, chakra_folder, recorded_folder

from dse.base.errors import InputError
from dse.base.trace_nodes import UINT64
from dse.inputs.systems import read_system
from dse.simulation.recorded.changes import Changes
from dse.simulation.recorded.replay import replayed
from dse.simulation.simulators import NativeSimulator
from dse.simulation.workloads import read_groups, read_workload
from dse.studies.executors import ExecutorSettings
from dse.studies.recorded import RUNS, Case, RunEvaluator, RunRow, found_traces
from dse.studies.recorded.grid import cases
from dse.studies.recorded.stored import FilesOfRows
from dse.studies.recorded.table import rows_text
from dse.studies.recorded.text import headline, overview
from dse.studies.store import StudyStore
from dse.studies.store.parts import record_name
from dse.studies.sweeps.study_run import run_cases
from dse.testing.builders import ALL_REDUCE, coll, comp, encode


def cases_of(folder: Path, keys: Mapping[str, str] | None = None, *overrides: str) -> list[Case]:
    return list(cases(found_traces([str(folder)]), keys or {}, overrides))


def rows_of(folder: Path, keys: Mapping[str, str] | None = None, *overrides: str) -> list[RunRow]:
    rows = list(map(RunEvaluator().evaluate, cases_of(folder, keys, *overrides)))
    for row in rows:
        if row.status == "failed":
            raise InputError(row.reason)
    return rows


def test_figures_are_those_of_the_engine(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    (row,) = rows_of(folder)
    spec = read_system(
        folder / "system.json", folder / "network.yml", None, name="x", network_model="congestion_unaware"
    )
    traces = [folder / f"job.{rank}.et" for rank in range(4)]
    outcome = NativeSimulator().simulate(read_workload(traces, read_groups(folder / "comm_group.json")), spec)
    last = outcome.rank(2)
    assert last is not None
    assert (row.status, row.ranks, row.nodes, row.slowest_rank) == ("ok", 4, 12, 2)
    assert (row.wall_time_ns, row.compute_time_ns, row.comm_time_ns, row.exposed_comm_ns) == (
        *(last.wall_time_ns, last.gpu_time_ns, last.comm_time_ns, last.exposed_comm_ns),
    )
    assert outcome.class_of_rank == [0, 0, 1, 1]


def test_lists_are_axes_and_a_study_goes_on(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    slow, fast = rows_of(folder, {"links.bandwidth_factor": "1,2"})
    assert slow.wall_time_ns is not None
    assert fast.wall_time_ns is not None
    assert fast.compute_time_ns == slow.compute_time_ns
    assert fast.wall_time_ns < slow.wall_time_ns
    study, settings = tmp_path / "study", ExecutorSettings("local", threads=1)
    for keys, computed in (("1,2", 2), ("1,2,4", 1), ("4,1", 0)):
        wanted = cases_of(folder, {"links.bandwidth_factor": keys})
        rows, missing = run_cases(RunEvaluator(), study, wanted, settings)
        assert (len(rows), missing) == (len(wanted), computed)
    assert record_name(study) == RUNS.name
    assert record_name(tmp_path) == ""
    (stored,) = [row for row in StudyStore(study, RUNS).rows() if json.loads(row.asked) == fast_keys()]
    assert FilesOfRows().case(stored).key == stored.key
    assert "its own" in rows_text([slow, fast])


def fast_keys() -> dict[str, str]:
    return {"links.bandwidth_factor": "2"}


def test_keys_follow_contents_and_not_names(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    (case,) = cases_of(folder)
    copy = shutil.copytree(folder, tmp_path / "other")
    assert cases_of(copy)[0].key == case.key == pickle.loads(pickle.dumps(case)).key
    (copy / "system.json").write_text((copy / "system.json").read_text().replace("3000", "1500"))
    assert cases_of(copy)[0].key != case.key
    assert cases_of(folder, {}, "simulator.reference=astra-sim-2026-03")[0].key != case.key
    (row,) = rows_of(folder)
    (folder / "job.0.et").write_bytes((folder / "job.1.et").read_bytes() + b"\0")
    with pytest.raises(
        InputError, match=r"has changed since row [0-9a-f]{8} was run; run dse simulate again"
    ):
        FilesOfRows().case(row)


def test_ranks_that_wait_for_ever_are_a_deadlock(tmp_path: Path) -> None:
    waits = [coll(1, ALL_REDUCE, 100, group="1"), coll(2, ALL_REDUCE, 100)]
    others = [coll(1, ALL_REDUCE, 100), coll(2, ALL_REDUCE, 100, group="1")]
    folder = chakra_folder(tmp_path / "job", [waits, others, others[:1], others[:1]])
    (folder / "comm_group.json").write_text('{"1": [0, 1]}')
    (row,) = rows_of(folder)
    assert (row.status, row.wall_time_ns) == ("deadlock", None)
    assert "never finish" in row.reason
    assert "deadlock" in rows_text([row])


def test_a_recorded_step_is_played_again_and_then_changed(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "step")
    plain, faster, hidden = (
        rows_of(folder, {"kernels.matmul": "1"})
        + rows_of(folder, {"kernels.matmul": "2"})
        + rows_of(folder, {"overlap": "perfect"})
    )
    assert (plain.kind, plain.system, plain.trusted) == ("replayed", "", True)
    assert plain.measured_ns == plain.wall_time_ns == plain.replayed_ns == 1000 * MEASURED_US
    step = found_traces([str(folder)]).step()
    assert hidden.wall_time_ns == replayed(step, Changes(overlap="perfect")).step_ns
    assert faster.wall_time_ns is not None
    assert plain.wall_time_ns is not None
    # Both ranks halve their product; rank 1's, the longer one, decides when the all-reduce begins.
    assert plain.wall_time_ns - faster.wall_time_ns == 1000 * 100
    parts = (plain.compute_time_ns, plain.exposed_comm_ns, plain.gap_time_ns)
    assert sum(filter(None, parts)) == plain.wall_time_ns


def test_a_rank_without_files_is_said_and_a_step_without_its_time_cannot_be_judged(tmp_path: Path) -> None:
    folder = recorded_folder(tmp_path / "step")
    for name in ("et.1.json", "kineto.1.json"):
        (folder / name).unlink()
    traces = found_traces([str(folder)])
    (case,) = cases(traces, {}, ())
    row = RunEvaluator().evaluate(case)
    assert headline(traces, [case], [row]).startswith(f"{folder}: a recorded step of PyTorch, 1 of 2 ranks, ")
    said = overview(traces)
    assert "1 rank of 2 not recorded (1)" in said
    assert "warning: no what-if below can be trusted: rank 1 without files: " in said
    plain, faster = rows_of(folder, {"kernels.matmul": "1,2"})
    assert (plain.trusted, faster.trusted) == (True, False)
    lines = [line.split() for line in rows_text([plain, faster]).splitlines()]
    assert [line[-1] for line in lines] == ["trusted", "yes", "no"]
    untimed = tmp_path / "converted"
    untimed.mkdir()
    for rank in (0, 1):
        node = comp(1, micros=100)
        node["attributes"]["rf_id"] = (UINT64, 1)
        (untimed / f"chakra.{rank}.et").write_bytes(encode([node]))
    traces = found_traces([str(untimed)])
    assert "warning: no what-if below can be judged by a measured step" in overview(traces)
    (row,) = rows_of(untimed)
    assert (row.measured_ns, row.trusted, row.wall_time_ns) == (None, False, 100_000)


def test_a_replay_that_is_off_is_said_before_any_what_if(tmp_path: Path) -> None:
    """Rank 1 ran on another host and says that it began its all-reduce after rank 0 had ended it."""
    folder = recorded_folder(tmp_path / "step")
    for rank, later in ((0, 0), (1, 300)):
        file = folder / f"kineto.{rank}.json"
        content = json.loads(file.read_text())
        content["host_name"] = f"host{rank}"
        step, *operators = content["traceEvents"]
        step["dur"] += later
        for event in operators:
            event["ts"] += later
        file.write_text(json.dumps(content))
    traces = found_traces([str(folder)])
    said = overview(traces)
    assert "warning: the replay is off by more than 10 %, so no figure below can be trusted:" in said
    assert "rank 0 ends after 0.900 ms and was measured at 0.600 ms (+50.0 %)" in said
    assert rows_of(folder)[0].trusted is False


@pytest.mark.parametrize(
    ("keys", "overrides", "message"),
    [
        ({"algorithms.all_reduce": "ring"}, (), "has no effect on measured times; write system=NAME too"),
        ({"base_system": "torus_4x4"}, (), "base_system is given without system"),
        ({"stragglers": "none"}, (), "stragglers is 'none'; allowed are recorded, median, fastest"),
        ({"work.ranks": "[0,x]", "work.factor": "2"}, (), "work.ranks is 'x'; it must be a whole number"),
        ({"work.factor": "2", "work.ranks": "[7]"}, (), "work.ranks has 7; the recorded ranks are 0, 1"),
        ({"ranks.groups": "[0]"}, (), "ranks.groups is given, but ranks.factor is 1"),
        ({"ranks.factor": "2", "ranks.groups": "[9]"}, (), "ranks.groups has '9'; the groups of"),
        ({"kernels.launch": "1000"}, (), "kernels.launch is 1000, but no rank of the step has a stream"),
        ({"kernels.copy": "0"}, (), "kernels.copy is '0'; it must be a number above 0"),
        ({}, ("system.name=x",), "system.name=x has no effect without a system"),
        ({}, ("simulator.engine=general",), "simulator.engine=general has no effect on a recorded step"),
    ],
)
def test_wrong_keys_are_named(
    tmp_path: Path, keys: dict[str, str], overrides: tuple[str, ...], message: str
) -> None:
    folder = recorded_folder(tmp_path / "step")
    with pytest.raises(InputError, match=message):
        rows_of(folder, keys, *overrides)


def test_keys_of_steps_are_refused_for_traces_of_chakra(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    with pytest.raises(InputError, match=r"overlap=none changes recorded steps, but .* has traces of Chakra"):
        rows_of(folder, {"overlap": "none"})
    for word, message in (
        ("simulator.referenc=x", "unknown key simulator.referenc; .*did you mean 'reference'"),
        ("simulator.engine=fast", "simulator.engine is 'fast'"),
        ("simulator=astrasim", "simulator=astrasim needs your ASTRA-sim program"),
    ):
        with pytest.raises(InputError, match=message):
            cases_of(folder, {}, word)
    (folder / "network.yml").unlink()
    with pytest.raises(InputError, match=r"has 4 traces such as job.0.et, but no network.yml; add it, or"):
        cases_of(folder)
    with pytest.raises(InputError, match=r"no traces; .*; folders in it have some: .*job"):
        found_traces([str(tmp_path)])
    recorded = tmp_path / "steps" / "rank0"
    recorded.mkdir(parents=True)
    (recorded / "kineto.json").write_text('{"schemaVersion": 1, "traceEvents": []}')
    with pytest.raises(InputError, match=r"no traces; .*; folders in it have some: .*rank0"):
        found_traces([str(tmp_path / "steps")])
    with pytest.raises(InputError, match="nowhere: no such file or folder"):
        found_traces(["nowhere"])


def test_a_system_of_ours_beside_the_traces_is_taken(tmp_path: Path) -> None:
    folder = chakra_folder(tmp_path / "job")
    for name in ("system.json", "network.yml"):
        (folder / name).unlink()
    (folder / "mine.yaml").write_text(
        "name: mine\nnetwork:\n  - {topology: Ring, npus: 4, bandwidth_gbps: 100, latency_ns: 50}\n"
        "collectives: {all_reduce: [ring], all_gather: [ring], reduce_scatter: [ring], all_to_all: [ring]}\n"
        "peak_tflops: 900\nmemory_bandwidth_gbps: 3000\ntrack_local_memory: false\n"
    )
    (row,) = rows_of(folder)
    assert row.status == "ok"
    (ring, direct) = rows_of(folder, {"algorithms.all_reduce": "ring,direct"})
    assert ring.wall_time_ns == row.wall_time_ns
    assert direct.status == "ok"
