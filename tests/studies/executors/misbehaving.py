"""Simulators that end, block or delay their process, for tests of executors; and points that have them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from pathlib import Path

from dse.inputs.strategies import Strategy
from dse.inputs.systems import SystemSpec
from dse.simulation.simulators import NativeSimulator, Outcome, Simulator
from dse.simulation.workloads import Workload, generate
from dse.studies.executors import Executor
from dse.studies.points import DesignPoint
from dse.studies.store import StudyRow
from dse.testing.builders import design_point

GOOD = Strategy(dp=16)
BAD = Strategy(dp=16, activation_recompute=True)


class Guarded(Simulator):
    """Does something on the points of `BAD`, which alone have more nodes than those of `GOOD`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        if workload.native.counts(0)["nodes"] > self._limit:
            self.misbehave()
        return NativeSimulator().simulate(workload, system)

    def misbehave(self) -> None:
        raise NotImplementedError


class Segfaults(Guarded):
    def misbehave(self) -> None:
        ctypes.string_at(0)


class Killed(Guarded):
    def misbehave(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Exits(Guarded):
    def misbehave(self) -> None:
        os._exit(3)


class Hangs(Guarded):
    """In native code that holds the interpreter: no Python handler or thread would get its turn."""

    def misbehave(self) -> None:
        ctypes.PyDLL(None).sleep(60)


class Sleeps(Guarded):
    def misbehave(self) -> None:
        time.sleep(60)


class KilledOnce(Guarded):
    def __init__(self, limit: int, marker: str, times: int) -> None:
        super().__init__(limit)
        self._marker = marker
        self._times = times

    def misbehave(self) -> None:
        with Path(self._marker).open("a+") as file:
            file.seek(0)
            if len(file.read()) < self._times:
                file.write("x")
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)


class Slow(Simulator):
    """Takes `seconds`, and leaves the id of its process."""

    def __init__(self, seconds: float, folder: str = "") -> None:
        self._seconds = seconds
        self._folder = folder

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        if self._folder:
            (Path(self._folder) / str(os.getpid())).touch()
        time.sleep(self._seconds)
        return NativeSimulator().simulate(workload, system)


class Gathers(Slow):
    """Leaves the id of its process, and waits until `processes` processes did, two minutes at most."""

    def __init__(self, folder: str, processes: int) -> None:
        super().__init__(0.02, folder)
        self._processes = processes

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        outcome = super().simulate(workload, system)
        until = time.monotonic() + 120
        while len(list(Path(self._folder).iterdir())) < self._processes and time.monotonic() < until:
            time.sleep(0.02)
        return outcome


class Broken(Simulator):
    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        del workload, system
        raise KeyError("a bug")


class RunsProgram(Simulator):
    """As a user's own program: a process that this one waits for."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def simulate(self, workload: Workload, system: SystemSpec) -> Outcome:
        process = subprocess.Popen(["sleep", "300"], start_new_session=True)
        (Path(self._folder) / str(process.pid)).touch()
        try:
            process.wait(300)
        finally:
            process.kill()
            process.wait()
        return NativeSimulator().simulate(workload, system)


def node_limit() -> int:
    """Return the nodes of a good point."""
    nodes = [generate(design_point(s).scenario.model, s).native.counts(0)["nodes"] for s in (GOOD, BAD)]
    assert nodes[0] < nodes[1]
    return nodes[0]


def points_with(simulator: Simulator, count: int, bad: tuple[int, ...] = ()) -> list[DesignPoint]:
    good = design_point(GOOD, simulator=simulator)
    return [DesignPoint(good.scenario, BAD if index in bad else GOOD) for index in range(count)]


def rows_of(executor: Executor, points: list[DesignPoint]) -> list[StudyRow]:
    got = list(executor.run(points))
    rows = dict(got)
    assert len(got) == len(points)
    assert sorted(rows) == list(range(len(points)))
    return [rows[index] for index in range(len(points))]
