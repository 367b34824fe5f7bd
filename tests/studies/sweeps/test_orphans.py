"""However a command ends, no process that it started is left five seconds later."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dse.base.lazy import is_installed

STARTED_S = 120.0  # for a command to start what it starts, on a busy machine
LEFT_S = 5.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MARK = "DSE_TEST_OF"
SLOW = """#!/bin/sh
sleep 600 &
sleep 600
"""
STAGE = """import subprocess, sys
subprocess.run(["sleep", "600"])
"""


class Seen(NamedTuple):
    """A process: its number and its command line."""

    pid: int
    line: str


def processes(mark: str, session: int) -> list[Seen]:
    """What runs of a session, or began with a variable of the environment in whatever session; no zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, of_session = folder.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
            environment = folder.joinpath("environ").read_bytes()
            line = folder.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            is_watch = line.startswith("/bin/sh -c") and "kill_marked" in line
            if state != "Z" and not is_watch and (int(of_session) == session or mark.encode() in environment):
                found.append(Seen(int(folder.name), line))
    return found


def wait_for(condition: Callable[[], object], seconds: float) -> bool:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


@contextlib.contextmanager
def running(folder: Path, arguments: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A command in a session of its own; whatever is left of it is killed at the end."""
    mark = f"{MARK}={os.getpid()}-{time.monotonic_ns()}"
    name, _, value = mark.partition("=")
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dse", *arguments],
            cwd=folder,
            env={**os.environ, name: value},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process, mark
    finally:
        for left in processes(mark, process.pid):
            with contextlib.suppress(OSError):
                os.kill(left.pid, signal.SIGKILL)
        process.wait()


BATCH = (
    "batch study=s topology=torus__dim=[4,4] collective=[all_gather,all_to_all,reduce_scatter,broadcast] "
    "trials=1000000 time_limit_s=300"
)
PLANS = "plan sweep study=s cluster=four_generations_4k model=llama3_70b gbs=[512,1024,2048,4096]"
WIDTHS = ",".join(map(str, range(28000, 30000, 64)))
BATCHES = ",".join(map(str, range(512, 2048, 64)))  # with them more points than some seconds are enough for
PREDICTED = (
    "sweep system=dgx_h100 model=llama3_70b space=training study=s "
    f"space.axes={{model.d_ff:[{WIDTHS}],model.batch_size:[{BATCHES}]}}"
)
RAY = "sweep system=dgx_h100 model=llama3_8b space=training study=s executor=ray executor.workers=2"
POINT = "system=dgx16 model=tiny strategy.dp=16"
COMMANDS = {
    "batch": (BATCH, "executors.processes"),
    "batch on ray": (f"{BATCH} executor=ray workers=2", "raylet"),
    "plan sweep": (PLANS, "executors.processes"),
    "predictions": (PREDICTED, "results/s/part-*"),  # in the process of the command
    "sweep on ray": (RAY, "raylet"),
    "astrasim": (f"point {POINT} simulator=astrasim simulator.binary=./slow", "sleep 600"),
    "sweep of astrasim": (
        "sweep system=dgx16 model=tiny study=s executor=local executor.threads=2 simulator=astrasim "
        "simulator.binary=./slow",
        "sleep 600",
    ),
    "stage": (f"point {POINT} workload=stage workload.checkout=checkout", "sleep 600"),
    "topology of a generator": (
        "synthesize topology=nx_random_regular_graph__d=99__n=20000 collective=broadcast",
        "generated",
    ),
    "pipeline": ("pipeline probe processes=2", "forkserver"),
}
# All commands handle SIGTERM and SIGINT by the same code: each has one of them here, both in `make nightly`.
ENDINGS = [
    (name, number)
    for place, name in enumerate(COMMANDS)
    for number in (SIGNALS if "DSE_NIGHTLY" in os.environ else (signal.SIGKILL, SIGNALS[1 + place % 2]))
]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes in /proc")
@pytest.mark.parametrize(
    ("name", "number"), ENDINGS, ids=[f"{name}-{number.name}" for name, number in ENDINGS]
)
def test_no_process_is_left(name: str, number: signal.Signals, tmp_path: Path) -> None:
    text, started = COMMANDS[name]
    if name == "pipeline" and not is_installed("torch"):
        pytest.skip("PyTorch is not installed: make torch")
    if "generator" in name and not is_installed("networkx"):
        pytest.skip("networkx is not installed")
    (tmp_path / "slow").write_text(SLOW)
    (tmp_path / "slow").chmod(0o755)
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "main.py").write_text(STAGE)
    with running(tmp_path, text.split()) as (process, mark):

        def has_started() -> bool:
            lines = [seen.line for seen in processes(mark, process.pid)]
            is_there = any(tmp_path.glob(started)) or any(started in line for line in lines)
            return process.poll() is not None or is_there

        assert wait_for(has_started, STARTED_S)
        assert process.poll() is None, (tmp_path / "output").read_text()
        os.kill(process.pid, number)
        process.wait(60)
        none_left = wait_for(lambda: not processes(mark, process.pid), LEFT_S)
        assert none_left, processes(mark, process.pid)
    if number != signal.SIGKILL and "study=s" in text:
        said = "interrupted; the same command goes on from what is stored in results/s"
        assert said in (tmp_path / "output").read_text()
