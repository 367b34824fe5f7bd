"""The commands with a user's own ASTRA-sim and STAGE in the place of ours, as stand-ins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import DP4_TP4_ON_DGX16, RING16, TINY, TINY_DGX16, error_of, run_dse, run_ok
from outside import all_end, astrasim_program, stage_checkout, wait_for

from dse.simulation.simulators import SimulatorSettings
from dse.simulation.workloads import WorkloadSettings
from dse.studies.config import compose_config
from dse.studies.store import StudyStore

SPACE = ("space.dp=[1,4,16]", "space.tp=[1,4]", "space.sp=[1]", "space.activation_recompute=[false]")


def _rows(folder: Path, study: str) -> list[tuple[object, ...]]:
    table = StudyStore(folder / "results" / study).read_table()
    names = ("dp", "tp", "status", "wall_time_ns", "peak_memory_bytes", "exposed_comm_ns", "comm_time_ns")
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def test_a_sweep_with_both_backends_has_the_rows_of_ours(tmp_path: Path) -> None:
    theirs = (
        *("simulator=astrasim", f"simulator.binary={astrasim_program(tmp_path, 'dollar').name}"),
        *("simulator.log_dir=logs", "workload=stage", f"workload.checkout={stage_checkout(tmp_path)}"),
    )
    ours = run_ok("sweep", *TINY, *SPACE, "study=ours", cwd=tmp_path)
    done = run_ok("sweep", *TINY, *SPACE, "study=theirs", *theirs, cwd=tmp_path)
    assert _rows(tmp_path, "theirs") == _rows(tmp_path, "ours")
    assert len(_rows(tmp_path, "ours")) == 2
    assert "2 points: 2 ok" in ours.out
    assert "2 points: 2 ok" in done.out
    assert len(list((tmp_path / "logs").iterdir())) == 2


def test_points_that_fail_are_rows_of_a_sweep(tmp_path: Path) -> None:
    program = astrasim_program(tmp_path, "crash")
    line = (
        *TINY,
        *SPACE,
        "study=crash",
        "simulator=astrasim",
        f"simulator.binary={program}",
        "simulator.log_dir=logs",
    )
    done = run_dse("sweep", *line, "system.track_local_memory=false", cwd=tmp_path)
    assert done.code == 0, done.err
    assert "2 points: 0 ok, 2 failed" in done.out


def test_a_point_has_the_figures_of_the_program(tmp_path: Path) -> None:
    program = astrasim_program(tmp_path)
    line = (*TINY_DGX16, "strategy.dp=4", "strategy.tp=4", "simulator=astrasim", "format=json")
    done = run_ok("point", *line, f"simulator.binary={program}", cwd=tmp_path)
    (entry,) = json.loads(done.out)["rank_classes"]
    assert entry["metrics"] == {**DP4_TP4_ON_DGX16, "cpu_time_ns": 0, "remote_memory_time_ns": 0}


def test_a_point_of_a_checkout_can_be_exported(tmp_path: Path) -> None:
    line = (*TINY_DGX16, "strategy.dp=4", "strategy.tp=4")
    staged = ("workload=stage", f"workload.checkout={stage_checkout(tmp_path)}", "export=theirs")
    run_ok("point", *line, "export=ours", cwd=tmp_path)
    run_ok("point", *line, *staged, cwd=tmp_path)
    ours, theirs = ({path.name: path for path in (tmp_path / name).iterdir()} for name in ("ours", "theirs"))
    assert set(ours) == set(theirs)
    for name, path in ours.items():
        same = json.loads if name.endswith(".json") else bytes
        assert same(path.read_bytes()) == same(theirs[name].read_bytes())


def test_a_deadlock_of_the_program_exits_with_1(tmp_path: Path) -> None:
    program = astrasim_program(tmp_path)
    line = (*RING16, "strategy.dp=4", "strategy.tp=4", "simulator=astrasim", "simulator.log_dir=logs")
    done = run_dse("point", *line, f"simulator.binary={program}", cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    assert "never finishes" in done.out
    (log,) = (tmp_path / "logs").iterdir()
    assert str(log) in done.out


@pytest.mark.parametrize(
    ("variant", "limit", "message"),
    [("crash", 60, "ASTRA-sim ended with exit status 3"), ("hang", 0.5, "ASTRA-sim ran longer than 0.5 s")],
)
def test_a_point_that_fails_is_one_line(tmp_path: Path, variant: str, limit: float, message: str) -> None:
    program = astrasim_program(tmp_path, variant)
    line = (*TINY, "strategy.dp=16", "simulator=astrasim", "simulator.log_dir=logs")
    error = error_of(
        "point", *line, f"simulator.binary={program}", f"simulator.timeout_s={limit}", cwd=tmp_path
    )
    assert error.startswith(message)


def test_ctrl_c_ends_the_programs_of_a_sweep(tmp_path: Path) -> None:
    program = astrasim_program(tmp_path, "hang")
    pids = tmp_path / "pids"
    arguments = [*TINY, *SPACE, "simulator=astrasim", f"simulator.binary={program}"]
    sweep = subprocess.Popen(
        [sys.executable, "-m", "dse.sweep", *arguments],
        cwd=tmp_path,
        env={**os.environ, "STANDIN_PIDS": str(pids), "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        numbers = [int(pid) for pid in wait_for(pids).split()]
        sweep.send_signal(signal.SIGINT)
        assert sweep.wait(30) == 130
        assert all_end(numbers)
        assert not list(tmp_path.glob("dse-astrasim-*/"))
    finally:
        sweep.kill()


def test_settings_of_both_backends() -> None:
    config = compose_config(
        [
            *("simulator=astrasim", "simulator.binary=bin/sim", "simulator.timeout_s=1.5"),
            *(
                "simulator.log_dir=logs",
                "workload=stage",
                "workload.checkout=stage",
                "workload.python=python3",
            ),
            *("workload.entry=run.py", "workload.timeout_s=9", "workload.divisibility=strict"),
        ]
    )
    assert config.simulator == SimulatorSettings(
        "astrasim", binary=Path("bin/sim"), timeout_s=1.5, log_dir=Path("logs")
    )
    assert config.workload == WorkloadSettings("stage", "strict", Path("stage"), "run.py", "python3", 9)
    assert compose_config([]).workload == WorkloadSettings("native", None)
    defaults = compose_config(["simulator=astrasim", "workload=stage"])
    assert defaults.simulator == SimulatorSettings("astrasim", timeout_s=3600)
    assert defaults.workload == WorkloadSettings("stage", None, None, "main.py", None, 3600)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("simulator=astrasim",), "simulator.binary is null; simulator=astrasim needs"),
        (("simulator=astrasim", "simulator.binary=nothing"), "simulator.binary is 'nothing'; there is no"),
        (("simulator.binary=x",), "simulator.binary is 'x', but simulator is native; write simulator=astr"),
        (("simulator.engine=fast",), "simulator.engine is 'fast'; allowed are auto, general"),
        (
            ("simulator=astrasim", "simulator.engine=general"),
            "simulator.engine is 'general', but simulator is astrasim; write simulator=native too",
        ),
        (("simulator=astrasim", "simulator.timeout_s=0"), "simulator.timeout_s is 0.0; it must be a number"),
        (("simulator=astrasim", "simulator.timeout_s=null"), "simulator.timeout_s is null; it must be a"),
        (("simulator=astrasim", "simulator.log_dir="), "simulator.log_dir is empty; it must be a path"),
        (
            ("simulator=astrasm",),
            "simulator 'astrasm' is unknown; did you mean 'astrasim'? Available are astrasim, native",
        ),
        (("workload=stage",), "workload.checkout is null; workload=stage needs the folder"),
        (("workload=stage", "workload.checkout=nowhere"), "workload.checkout is 'nowhere'; there is no"),
        (("workload=stage", "workload.checkout=.", "workload.entry="), "workload.entry is empty; it must"),
        (("workload.checkout=x",), "workload.checkout is 'x', but workload is native; write workload=stage"),
        (("workload.name=x",), "workload.name is 'x'; allowed are native, stage"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_one_line(
    tmp_path: Path, overrides: tuple[str, ...], message: str
) -> None:
    assert error_of("point", *TINY, "strategy.dp=16", *overrides, cwd=tmp_path).startswith(message)


def test_a_checkout_whose_packages_are_missing_names_workload_python(tmp_path: Path) -> None:
    line = (*TINY, "workload=stage", f"workload.checkout={stage_checkout(tmp_path, 'modules')}")
    message = (
        f"workload.python is null, so {sys.executable} ran, which has no module 'module_of_the_checkout' "
        "that main.py of the checkout imports; set it to an interpreter that has the checkout's packages"
    )
    assert error_of("point", *line, "strategy.dp=16", cwd=tmp_path) == message
    sweep = run_dse("sweep", *line, *SPACE, cwd=tmp_path)
    assert (sweep.code, sweep.err.splitlines()[-1]) == (2, f"error: {message}")
    named = error_of("point", *line, "strategy.dp=16", f"workload.python={sys.executable}", cwd=tmp_path)
    assert named.startswith(f"workload.python is '{sys.executable}', which has no module 'module_of_the_")


def test_traces_without_tensors_name_our_key_that_does_without(tmp_path: Path) -> None:
    staged = ("workload=stage", f"workload.checkout={stage_checkout(tmp_path, 'bare')}")
    line = (*TINY_DGX16, "strategy.dp=4", "strategy.tp=4", *staged, "format=json")
    error = error_of("point", *line, cwd=tmp_path)
    assert "attribute 'inputs' is missing; memory tracking needs it, or write " in error
    assert "system.track_local_memory=false" in error
    done = run_ok("point", *line, "system.track_local_memory=false", cwd=tmp_path)
    metrics = [entry["metrics"] for entry in json.loads(done.out)["rank_classes"]]
    assert {m["wall_time_ns"] for m in metrics} == {DP4_TP4_ON_DGX16["wall_time_ns"]}
    assert {m["peak_memory_bytes"] for m in metrics} == {None}
