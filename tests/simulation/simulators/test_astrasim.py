"""ASTRA-sim as a simulator, against a stand-in: its report, and everything that goes wrong with a program."""

from __future__ import annotations

import dataclasses
import pickle
import re
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from outside import all_end, astrasim_program, wait_for

from dse.base.errors import InputError, SimulationError, SimulationTimeout
from dse.inputs.strategies import Strategy
from dse.inputs.systems import Derating, LinkFault, SystemSpec
from dse.simulation.simulators import AstraSimSimulator, NativeSimulator, SimulatorSettings, make_simulator
from dse.simulation.simulators.report import read_report, size_bytes
from dse.simulation.validation.compare import as_printed, printed_size
from dse.simulation.workloads import Workload, generate, read_workload
from dse.studies.executors import LocalExecutor
from dse.studies.points import evaluate
from dse.testing.builders import (
    ALL_REDUCE,
    RING16,
    TINY,
    coll,
    comp,
    design_point,
    encode,
    recv,
    send,
    system,
    workload,
)

TWO = workload([comp(1), send(2, to=1, size=9, after=[1])], [recv(1, source=0, size=9)])
HALF_BLOCKED = workload([comp(1)], [recv(1, source=0, size=9)])


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that is empty before the test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def astrasim(tmp_path: Path) -> Callable[..., AstraSimSimulator]:
    def make(variant: str = "", timeout_s: float = 60, logs: Path | None = None) -> AstraSimSimulator:
        return AstraSimSimulator(astrasim_program(tmp_path, variant), timeout_s, logs)

    return make


def _kept_log(message: str) -> Path:
    found = re.search(r"its log is (\S+\.log)", message)
    assert found, message
    return Path(found[1])


Make = Callable[..., AstraSimSimulator]


@pytest.mark.parametrize("variant", ["", "dollar", "noise"])
def test_a_report_has_every_figure_of_every_rank(astrasim: Make, temporary: Path, variant: str) -> None:
    work = generate(TINY, Strategy(tp=4, pp=4, activation_recompute=True))
    outcome = astrasim(variant).simulate(work, RING16)
    expected = NativeSimulator("general").simulate(work, RING16)
    assert outcome.status == "ok"
    assert outcome.class_of_rank == expected.class_of_rank
    for ours, theirs in zip(expected.classes, outcome.classes, strict=True):
        assert ours is not None
        assert theirs is not None
        for key, value in dataclasses.asdict(theirs).items():
            assert as_printed(ours, key, value) == value
    assert list(temporary.iterdir()) == []  # neither the private folder nor a log is left


@pytest.mark.parametrize("variant", ["KB", "MB", "GB", "KiB", "MiB", "GiB"])
def test_a_peak_memory_with_a_unit_is_near_the_bytes(astrasim: Make, variant: str) -> None:
    outcome = astrasim(variant).simulate(generate(TINY, Strategy(dp=16)), RING16)
    power = {"K": 1, "M": 2, "G": 3}[variant[0]]
    for metrics in outcome.classes:
        assert metrics is not None
        assert metrics.peak_memory_bytes == pytest.approx(147_849_216, abs=0.005 * 1024**power + 1)


@pytest.mark.parametrize("size", [0, 7, 1023, 1024, 99_614_720, 34_359_738_368, 5 * 2**40])
def test_a_size_as_the_reference_prints_it_is_read_back(size: int) -> None:
    assert size_bytes(printed_size(size)) == pytest.approx(size, rel=0.006)
    assert size_bytes(size) == size


def test_a_size_with_another_unit_is_refused() -> None:
    with pytest.raises(InputError, match="peak memory is '3 parsec'; known units are B, KB"):
        size_bytes("3 parsec")


def test_labels_decide_not_their_order_or_case() -> None:
    lines = [
        "sys[4] Peak Memory Usage: 12 GiB\r\n",
        "x sys[4], comm time: 8\n",
        "sys[4] finished, 20 cycles, exposed communication 18446744073709551615 cycles.\n",
        "sys[9], Wall time: 3\n",
    ]
    assert read_report(lines) == {
        4: {"finish_ns": 20, "exposed_comm_ns": 2**64 - 1, "comm_time_ns": 8, "peak_memory_bytes": "12 GiB"}
    }


def test_a_negative_exposed_time_is_printed_as_unsigned(astrasim: Make) -> None:
    on = system(replay_only=True)
    work = workload([comp(1, micros=5), coll(2, ALL_REDUCE, 800, micros=7)], [comp(1, micros=5)])
    ours = NativeSimulator().simulate(work, on)
    theirs = astrasim().simulate(work, on)
    assert [rank and rank.exposed_comm_ns for rank in ours.classes] == [
        rank and rank.exposed_comm_ns for rank in theirs.classes
    ]
    assert min(rank.exposed_comm_ns for rank in ours.classes if rank) < 0


def test_the_program_decides_the_network_model(astrasim: Make) -> None:
    work = generate(TINY, Strategy(dp=16))
    aware = replace(RING16, network_model="congestion_aware")
    got = astrasim("aware").simulate(work, RING16).rank(0)
    expected = NativeSimulator().simulate(work, aware).rank(0)
    assert got is not None
    assert expected is not None
    assert got.wall_time_ns == expected.wall_time_ns


@pytest.mark.parametrize(
    "on",
    [
        replace(RING16, queues_per_dimension=2, injection_scale=3.0),
        replace(RING16, rendezvous_protocol=True),
        replace(RING16, trace_enabled=False, local_memory_trace_filename="elsewhere/memory"),
    ],
    ids=["queues", "rendezvous", "switches"],
)
def test_options_and_switches_reach_the_program(astrasim: Make, on: SystemSpec) -> None:
    work = generate(TINY, Strategy(dp=4, tp=2, sp=2))
    ours = NativeSimulator().simulate(work, on).rank(0)
    theirs = astrasim().simulate(work, on).rank(0)
    assert ours is not None
    assert theirs is not None
    assert (theirs.finish_ns, theirs.peak_memory_bytes) == (ours.finish_ns, ours.peak_memory_bytes)


def test_a_silent_deadlock_is_one_and_its_log_is_kept(astrasim: Make, temporary: Path) -> None:
    outcome = astrasim().simulate(HALF_BLOCKED, system())
    assert outcome.status == "deadlock"
    assert [metrics is None for metrics in outcome.classes] == [False, True]
    assert outcome.reason.startswith("1 of 2 ranks never finish; ASTRA-sim ended without their reports; its")
    log = _kept_log(outcome.reason)
    assert "sys[1] has unreleased nodes" in log.read_text()
    assert list(temporary.iterdir()) == [log]


def test_a_deadlock_with_a_cause_and_an_exit_status_is_one_too(astrasim: Make) -> None:
    outcome = astrasim("stated").simulate(HALF_BLOCKED, system())
    assert outcome.status == "deadlock"
    assert outcome.reason.startswith("1 of 2 ranks never finish; rank 1: receive node 2; its log is")
    assert astrasim("stated").simulate(TWO, system()).status == "ok"


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (
            "crash",
            r"ASTRA-sim ended with exit status 3; the last lines of its log are: .*crashes as told; its",
        ),
        ("twice", "ASTRA-sim printed a report that cannot be read: line .*rank 0 finishes a second time"),
    ],
)
def test_a_program_that_fails_is_a_simulation_error(
    astrasim: Make, temporary: Path, variant: str, message: str
) -> None:
    with pytest.raises(SimulationError, match=message) as error:
        astrasim(variant).simulate(TWO, system())
    assert list(temporary.iterdir()) == [_kept_log(str(error.value))]


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        ("segfault", "ended with signal 11 (SIGSEGV)"),
        ("silent", "ended with exit status 0 without a report: is simulator.binary it?"),
    ],
)
def test_a_program_that_prints_nothing_leaves_no_log(
    astrasim: Make, temporary: Path, variant: str, message: str
) -> None:
    with pytest.raises(SimulationError) as error:
        astrasim(variant).simulate(TWO, system())
    assert str(error.value) == f"ASTRA-sim {message}; its log is empty"
    assert list(temporary.iterdir()) == []


def test_a_hang_is_killed_with_its_children(
    astrasim: Make, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    monkeypatch.setenv("STANDIN_PIDS", str(pids))
    with pytest.raises(SimulationTimeout, match="ran longer than 4 s and was killed") as error:
        astrasim("hang", timeout_s=4).simulate(TWO, system())
    assert all_end([int(pid) for pid in pids.read_text().split()])
    log = _kept_log(str(error.value))
    assert log.read_text() == "the stand-in hangs\n"
    assert list(temporary.iterdir()) == [log]


def test_an_executor_that_is_left_ends_the_programs(
    astrasim: Make, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    monkeypatch.setenv("STANDIN_PIDS", str(pids))
    slow = design_point(Strategy(dp=16), simulator=astrasim("hang", timeout_s=600))
    infeasible = design_point(Strategy(dp=2))
    rows = LocalExecutor(2).run([infeasible, slow])
    assert next(rows)[1].status == "infeasible"
    numbers = [int(pid) for pid in wait_for(pids).split()]
    closed = threading.Thread(target=rows.close)  # type: ignore[attr-defined]  # it is a generator
    closed.start()
    closed.join(20)
    assert not closed.is_alive()
    assert all_end(numbers)
    assert all(path.suffix == ".log" for path in temporary.iterdir())


def test_rows_of_points_that_fail_hang_and_deadlock(astrasim: Make, tmp_path: Path) -> None:
    point = design_point(Strategy(dp=16), simulator=astrasim())
    assert evaluate(point).wall_time_ns == 1_792_330
    deadlock = evaluate(replace(point, strategy=Strategy(dp=4, tp=4)))
    assert (deadlock.status, deadlock.wall_time_ns) == ("deadlock", None)
    assert deadlock.reason.startswith("16 of 16 ranks never finish; ")
    failed = evaluate(design_point(Strategy(dp=16), simulator=astrasim("crash")))
    assert failed.status == "failed"
    assert "exit status 3" in failed.reason
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nsleep 600\n")
    sleeper.chmod(0o755)
    late = evaluate(design_point(Strategy(dp=16), simulator=AstraSimSimulator(sleeper, timeout_s=0.2)))
    assert late.status == "timeout"
    assert "0.2 s" in late.reason


def test_a_log_folder_keeps_the_log_of_every_run(astrasim: Make, tmp_path: Path, temporary: Path) -> None:
    logs = tmp_path / "logs" / "of runs"
    simulator = astrasim(logs=logs)
    on = replace(system(), name="my/system")
    simulator.simulate(TWO, on)
    (first,) = logs.iterdir()
    assert re.fullmatch(r"astrasim-my_system-[0-9a-f]{12}\.log", first.name)
    assert "sys[0] finished" in first.read_text()
    assert str(logs) in simulator.simulate(HALF_BLOCKED, on).reason
    assert len(list(logs.iterdir())) == 2
    assert list(temporary.iterdir()) == []


def test_a_program_that_is_missing_or_cannot_run_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"simulator.binary is '.*nothing'; there is no such file"):
        AstraSimSimulator(tmp_path / "nothing", 60)
    text = tmp_path / "text"
    text.write_text("not a program")
    with pytest.raises(InputError, match="not executable"):
        AstraSimSimulator(text, 60)
    text.chmod(0o755)
    with pytest.raises(InputError, match=r"cannot run .*text: Exec format error"):
        AstraSimSimulator(text, 60).simulate(TWO, system())
    simulator = AstraSimSimulator(astrasim_program(tmp_path), 60)
    simulator.binary.unlink()
    with pytest.raises(InputError, match="there is no such file"):
        simulator.simulate(TWO, system())


def test_what_astrasim_has_no_files_for_is_an_input_error(astrasim: Make, tmp_path: Path) -> None:
    paths = [tmp_path / f"trace.{rank}.et" for rank in range(2)]
    for path in paths:
        path.write_bytes(encode([comp(1)]))
    read: Workload = read_workload(paths)
    with pytest.raises(InputError, match="was read from trace files"):
        astrasim().simulate(read, system())
    aware = system("Ring 4 @100/50", network_model="congestion_aware")
    work = workload(*[[comp(1)]] * 4)
    with pytest.raises(InputError, match=r"system.faults is not empty"):
        astrasim().simulate(work, replace(aware, faults=(LinkFault(0, 1, removed=True),)))
    with pytest.raises(InputError, match=r"system.deratings is not empty"):
        astrasim().simulate(work, replace(aware, deratings=(Derating(0, 0.5),)))


def test_a_folder_for_temporary_files_that_astrasim_takes_for_none(
    astrasim: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "not_empty"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(InputError, match="set TMPDIR to another folder"):
        astrasim().simulate(TWO, system())


def test_no_name_of_a_private_folder_contains_empty(
    astrasim: Make, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["xempty1", "fine"])
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    assert astrasim().simulate(TWO, system()).status == "ok"
    assert list(temporary.iterdir()) == []


def test_a_copy_in_another_process_is_the_same(astrasim: Make) -> None:
    simulator = astrasim()
    copy = pickle.loads(pickle.dumps(simulator))
    assert copy == simulator
    assert copy.simulate(TWO, system()) == simulator.simulate(TWO, system())


def test_simulators_from_settings(tmp_path: Path) -> None:
    assert make_simulator(SimulatorSettings("native", "general")) == NativeSimulator("general")
    binary = astrasim_program(tmp_path)
    settings = SimulatorSettings("astrasim", binary=binary, timeout_s=5, log_dir=tmp_path)
    assert make_simulator(settings) == AstraSimSimulator(binary, 5, tmp_path)
    with pytest.raises(InputError, match=r"simulator.binary is null; simulator=astrasim needs"):
        make_simulator(SimulatorSettings("astrasim"))
