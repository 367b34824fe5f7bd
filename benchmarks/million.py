"""Studies of a million points: swept, swept again with nothing left to do, and asked for their best point.

These are the commands that a user types, as processes of their own. The points are cheap (a small model), so
that what is measured is what every study pays: keys, rows, Parquet, and reading it back.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Cases
from benchmarks.measure import BenchmarkError, in_fresh_process

Row = dict[str, str | int | float | bool | None]

_STUDY = "million"
_PREDICTED_SPACE = Path(__file__).parent / "predicted_space.yaml"


@dataclass(frozen=True)
class Process:
    """A command that ended with 0, its children included: `peak_bytes` is of the largest one."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    output: str


def million(cases: Cases, repeats: int) -> Iterator[Row]:
    """The strategies of 64 NPUs under many peak rates and memory bandwidths: each pair is another system."""
    rates, bandwidths = cases.million_variants
    axes = {
        "system.peak_tflops": [400 + 10 * step for step in range(rates)],
        "system.memory_bandwidth_gbps": [2000 + 50 * step for step in range(bandwidths)],
    }
    text = ",".join(f"{key}:{values}" for key, values in axes.items()).replace(" ", "")
    with tempfile.TemporaryDirectory() as folder:
        sweep = [
            *("dse", "sweep", "system=system1", "model=tiny", "space=full", "executor=local"),
            *(f"space.axes={{{text}}}", f"study={_STUDY}", f"results_dir={folder}"),
        ]
        study = Path(folder) / _STUDY
        first = _run(sweep, folder)
        points = _points(first)
        yield _row("sweep", points, [first], study)
        again = [_run(sweep, folder) for _ in range(repeats)]
        for run in again:
            if f"{points} of {points} points were in the study already" not in run.output:
                raise BenchmarkError(f"the sweep was not resumed: {run.output[:500]}")
        yield _row("resume, nothing to do", points, again, study)
        asked = [_run(["dse", "best", str(study)], folder) for _ in range(repeats)]
        if {_points(run) for run in asked} != {points}:
            raise BenchmarkError(f"dse best has not seen {points} points: {asked[0].output[:500]}")
        yield _row("best", points, asked, study)
    yield from _predicted(cases)


def _predicted(cases: Cases) -> Iterator[Row]:
    """Strategies of a model on many NPUs, which the engine predicts in blocks."""
    for name, overrides in cases.predicted.items():
        with tempfile.TemporaryDirectory() as folder:
            sweep = ["dse", "sweep", f"space={_PREDICTED_SPACE}", "system=dgx_h100", "model=llama3_405b"]
            run = _run([*sweep, *overrides, f"study={_STUDY}", f"results_dir={folder}"], folder)
            yield _row(name, _points(run), [run], Path(folder) / _STUDY)


def _row(name: str, points: int, runs: Sequence[Process], study: Path) -> Row:
    parts = list(study.glob("*.parquet"))
    return {
        "name": name,
        "points": points,
        "repeats": len(runs),
        "wall_s": statistics.median(run.wall_s for run in runs),
        "wall_min_s": min(run.wall_s for run in runs),
        "wall_max_s": max(run.wall_s for run in runs),
        "cpu_s": statistics.median(run.cpu_s for run in runs),
        "peak_bytes": max(run.peak_bytes for run in runs),
        "parts": len(parts),
        "study_bytes": sum(part.stat().st_size for part in parts),
    }


def _points(run: Process) -> int:
    found = re.search(r"^(\d+) points?: ", run.output, re.MULTILINE)
    if found is None:
        raise BenchmarkError(f"no number of points: {run.output[:500]}")
    return int(found[1])


def _run(arguments: Sequence[str], folder: str) -> Process:
    """Run a module, started by a small process: a child's peak begins with what its parent has."""
    return in_fresh_process(measured, [sys.executable, "-m", *arguments], folder)


def measured(command: Sequence[str], folder: str) -> Process:
    """Run a command in a folder and take its times and its peak memory.

    Raises:
        BenchmarkError: it ends with another code than 0.
    """
    with tempfile.TemporaryFile() as printed:
        began = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=printed, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read().decode(errors="replace")
    if process.returncode != 0:
        raise BenchmarkError(f"{command[2]} ended with {process.returncode}: {text.strip()[-2000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Process(wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit, text)
