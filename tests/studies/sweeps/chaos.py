"""Commands ended at random moments: `python tests/studies/sweeps/chaos.py` (make chaos).

* SIGKILL of the whole driver of a sweep, on threads and on Ray: at the end the study must equal that of a
  sweep which nobody disturbed, row for row; how many simulations have to be repeated is counted.
* SIGINT and SIGTERM, one or several, to the process group of a command, as a terminal sends them: always one
  line and exit code 130 or 143, and at the end the study of the sweeps among them must be such a one too.

Signals come from the first line of our own code on, which is when the process begins to handle SIGTERM.
Before that, for some tens of milliseconds, Python itself starts, and nothing of ours can answer.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.studies.store import StudyStore, as_rows

DRIVER = Path(__file__).with_name("chaos_driver.py")
POINTS_PER_VALUE = 10  # strategies of tiny on 16 NPUs with sp 1
DEADLINE_S = 600
SAID_BEFORE = ("executor: ", "note: ", "warning: ")  # on stderr, by a command that is interrupted later


@dataclass(frozen=True)
class Kill:
    """What one kill cost: simulations that ended in the run, and rows that the study gained."""

    simulated: int
    gained: int

    @property
    def lost(self) -> int:
        """Simulations that have to be repeated."""
        return self.simulated - self.gained


@dataclass(frozen=True)
class Ending:
    """How a command ended after a signal that it received while it ran."""

    code: int
    error: str

    def problem(self, number: int) -> str:
        """Return what is wrong with it, or nothing."""
        lines = [line for line in self.error.splitlines() if not line.startswith(SAID_BEFORE)]
        is_one_line = len(lines) == 1 and lines[0].startswith("interrupted")
        return "" if self.code == 128 + number and is_one_line else f"exit code {self.code}, {self.error!r}"


def overrides(results: Path, points: int, executor: str = "local") -> list[str]:
    """A sweep of so many points, each of them simulated rank by rank so that it takes milliseconds."""
    values = ",".join(str(450 + index) for index in range(points // POINTS_PER_VALUE))
    return [
        *("system=torus_4x4", "model=tiny", "simulator.engine=general", "space.sp=[1]", "study=chaos"),
        f"space.axes={{system.peak_tflops:[{values}]}}",
        f"results_dir={results}",
        f"executor={executor}",
        *(("executor.workers=2",) if executor == "ray" else ()),
    ]


def start(log: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start a sweep."""
    line = [sys.executable, str(DRIVER), str(log), *arguments]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def run_killed(folder: Path, points: int, kills: int, seed: int, executor: str) -> list[Kill]:
    """Kill a sweep `kills` times, then let it end; return what each kill cost."""
    draw = random.Random(seed)
    arguments = overrides(folder / "killed", points, executor)
    store = StudyStore(folder / "killed" / "chaos")
    costs: list[Kill] = []
    while len(costs) < kills:
        log = folder / f"{len(costs)}.log"
        before = stored(store)
        process = start(log, arguments)
        wait_for_simulations(process, log, draw.randint(1, max(1, (points - before) // (kills - len(costs)))))
        time.sleep(draw.random() * 0.2)
        process.kill()
        process.wait()
        costs.append(Kill(simulations(log), stored(store) - before))
    assert start(folder / "last.log", arguments).wait(DEADLINE_S) == 0
    return costs


def wait_for_simulations(process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Return when so many simulations of a run have ended, or the sweep has."""
    deadline = time.monotonic() + DEADLINE_S
    while process.poll() is None and time.monotonic() < deadline:
        if simulations(log) >= count:
            return
        time.sleep(0.01)


def simulations(log: Path) -> int:
    """Number of simulations that have ended, by their log."""
    return log.read_bytes().count(b"\n") if log.exists() else 0


def stored(store: StudyStore) -> int:
    """Number of points in the study."""
    return len(store.keys()) if store.folder.is_dir() else 0


def check(folder: Path, points: int, kills: int, seed: int, executor: str = "local") -> list[Kill]:
    """Run a sweep with kills and one without, and compare; return what each kill cost."""
    costs = run_killed(folder, points, kills, seed, executor)
    assert start(folder / "whole.log", overrides(folder / "whole", points)).wait(DEADLINE_S) == 0
    killed, whole = (StudyStore(folder / name / "chaos") for name in ("killed", "whole"))
    assert whole.read_table().num_rows == points
    assert as_rows(killed.read_table()) == as_rows(whole.read_table())  # both are in the order of POINTS
    assert len(killed.parts()) == 1
    if executor == "local":  # workers of Ray may end a simulation, and log it, after their driver is gone
        assert sum(cost.gained for cost in costs) + simulations(folder / "last.log") == points
    assert all(cost.lost >= 0 for cost in costs), costs
    return costs


def is_handling(pid: int) -> bool:
    """Whether a process handles SIGTERM, or has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return True
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt")), "0")
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1) or any(
        line == "State:\tZ (zombie)" for line in lines
    )


def interrupt(
    arguments: Sequence[str], folder: Path, delay_s: float, number: int, again_s: Sequence[float] = ()
) -> Ending | None:
    """Run a command and signal its group `delay_s` after it can answer; None if it ended before that."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A job in the background of a script ignores Ctrl-C, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not is_handling(process.pid):
        time.sleep(0.0005)
    time.sleep(delay_s)
    is_running = process.poll() is None
    for pause_s in (0.0, *again_s):
        time.sleep(pause_s)
        if process.poll() is None:
            os.killpg(process.pid, number)
    _, error = process.communicate(timeout=DEADLINE_S)
    return Ending(process.returncode, error) if is_running else None


def commands(folder: Path, points: int, executor: str) -> list[list[str]]:
    """Commands to interrupt: sweeps above all, and those that read the study `read` in `folder`/results."""
    arguments = overrides(folder / "interrupted", points, executor)
    sweep = ["dse", "sweep", *arguments]
    if executor == "ray":
        return [sweep]
    readers = [
        ["dse", "best"],
        ["dse", "report"],
        ["dse", "explain"],
        ["dse", "sensitivity"],
        ["dse", "timeline"],
    ]
    point = ["dse", "point", "system=torus_4x4", "model=tiny", "strategy.dp=16"]
    return [sweep] * len(readers) + [point] + [[*verb, str(folder / "read" / "chaos")] for verb in readers]


def check_signals(folder: Path, points: int, signals: int, seed: int, executor: str = "local") -> int:
    """Signal commands at random moments from their first line on; return how many signals found one running.

    Of the sweeps among them nothing may be lost or doubled.
    """
    draw = random.Random(seed)
    read = overrides(folder / "read", POINTS_PER_VALUE)
    assert start(folder / "read.log", read).wait(DEADLINE_S) == 0
    longest_s = {"local": 1.5, "ray": 12.0}[executor]
    answered = 0
    attempts = 0
    while answered < signals:
        attempts += 1
        assert attempts < 20 * signals
        command = draw.choice(commands(folder, points, executor))
        number = draw.choice([signal.SIGINT, signal.SIGINT, signal.SIGINT, signal.SIGTERM])
        again_s = [draw.random() * 0.3 for _ in range(draw.choice([0, 0, 1, 3]))]
        ending = interrupt(command, folder, draw.random() ** 2 * longest_s, number, again_s)
        # A short command may be past its last line when the signal comes; a sweep has seconds to go.
        if ending == Ending(0, "") and command[0] != "dse sweep":
            ending = None
        if ending is not None:
            problem = ending.problem(number)
            assert not problem, (command, number, again_s, problem)
            answered += 1
    arguments = overrides(folder / "interrupted", points)
    assert start(folder / "ended.log", arguments).wait(DEADLINE_S) == 0
    assert start(folder / "whole.log", overrides(folder / "whole", points)).wait(DEADLINE_S) == 0
    ended, whole = (StudyStore(folder / name / "chaos") for name in ("interrupted", "whole"))
    assert whole.read_table().num_rows == points
    assert as_rows(ended.read_table()) == as_rows(whole.read_table())
    return answered


def report(executor: str, points: int, costs: list[Kill]) -> None:
    """Print what kills cost."""
    if costs:
        print(
            f"executor={executor}: {len(costs)} kills in {points} points: the study equals the undisturbed "
            f"one; {sum(cost.lost for cost in costs)} of {sum(cost.simulated for cost in costs)} simulations "
            f"in killed runs are repeated, at most {max(cost.lost for cost in costs)} after a kill",
            flush=True,
        )


def main() -> None:
    """Print the cost of the kills, and what became of the signals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--ray-kills", type=int, default=20)
    parser.add_argument("--signals", type=int, default=200)
    parser.add_argument("--ray-signals", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for executor, signals in (("local", arguments.signals), ("ray", arguments.ray_signals)):
        if not signals:
            continue
        with tempfile.TemporaryDirectory() as folder:
            answered = check_signals(Path(folder), arguments.points, signals, arguments.seed, executor)
        print(
            f"executor={executor}: {answered} signals: always one line and 130 or 143; "
            "the study equals the undisturbed one",
            flush=True,
        )
    for executor, kills in (("local", arguments.kills), ("ray", arguments.ray_kills)):
        with tempfile.TemporaryDirectory() as folder:
            costs = check(Path(folder), arguments.points, kills, arguments.seed, executor) if kills else []
        report(executor, arguments.points, costs)


if __name__ == "__main__":
    main()
