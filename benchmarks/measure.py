"""Running things in fresh processes: functions of this package, and commands, with their CPU time."""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

ROOT = Path(__file__).resolve().parents[1]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class BenchmarkError(RuntimeError):
    """Something that is measured failed; the message says what it printed."""


@dataclass(frozen=True)
class Run:
    """A command that ended with 0: its time, its cores' time, what it printed."""

    wall_s: float
    cpu_s: float
    output: str


def in_fresh_process(
    function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Call a function of a module in a new interpreter and return its result; its memory is only its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"],
        cwd=ROOT,
        input=pickle.dumps((function, args, kwargs)),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchmarkError(f"{function.__name__}: {done.stderr.decode(errors='replace').strip()}")
    result: _Result = pickle.loads(done.stdout)
    return result


def run_command(command: Sequence[str | Path], cwd: Path) -> Run:
    """Run a command and take the CPU time of it and its children.

    Raises:
        BenchmarkError: it cannot be started, or ends with another code than 0.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    try:
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise BenchmarkError(f"{command[0]}: {error.strerror}") from None
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        raise BenchmarkError(f"{command[0]} ended with {done.returncode}: {text.strip()[-2000:]}")
    return Run(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text)
