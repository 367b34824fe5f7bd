"""Programs outside of the project: stand-ins of ours, and the real ones that the environment names.

ASTRA_SIM_BIN is an ASTRA-sim (congestion-unaware; our own stand-alone one will do), STAGE_DIR a checkout of
STAGE, STAGE_ENTRY its entry file and STAGE_PYTHON an interpreter that has what it imports.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from dse.simulation.simulators import AstraSimSimulator
from dse.simulation.workloads import StageGenerator

STANDINS = Path(__file__).parent / "standins"


def astrasim_program(folder: Path, variant: str = "") -> Path:
    """Make an executable that runs the stand-in for ASTRA-sim; `variant` is its STANDIN."""
    program = folder / f"astrasim-{variant or 'plain'}"
    script = shlex.join([sys.executable, str(STANDINS / "astrasim.py")])
    program.write_text(f'#!/bin/sh\nSTANDIN={variant} exec {script} "$@"\n')
    program.chmod(0o755)
    return program


def stage_checkout(folder: Path, variant: str = "", entry: str = "main.py") -> Path:
    """Make a folder like a checkout of STAGE."""
    checkout = folder / "checkout"
    (checkout / "tables").mkdir(parents=True)
    (checkout / "tables" / "operators.csv").write_text("qkv\n")
    (checkout / entry).write_text(
        f"import os, runpy\nos.environ['STANDIN'] = {variant!r}\n"
        f"runpy.run_path({str(STANDINS / 'stage.py')!r}, run_name='__main__')\n"
    )
    return checkout


def real_astrasim(logs: Path) -> AstraSimSimulator:
    if "ASTRA_SIM_BIN" not in os.environ:
        pytest.skip("ASTRA_SIM_BIN does not name an ASTRA-sim program")
    return AstraSimSimulator(Path(os.environ["ASTRA_SIM_BIN"]), 60, logs)


def real_stage() -> StageGenerator:
    if "STAGE_DIR" not in os.environ:
        pytest.skip("STAGE_DIR does not name a checkout of STAGE")
    return StageGenerator(
        Path(os.environ["STAGE_DIR"]),
        os.environ.get("STAGE_ENTRY", "main.py"),
        os.environ.get("STAGE_PYTHON"),
    )


def wait_for(file: Path, seconds: float = 30) -> str:
    """Return the content of a file that another process is about to write."""
    end = time.monotonic() + seconds
    while not (file.is_file() and file.read_text()):
        assert time.monotonic() < end, f"{file} does not appear"
        time.sleep(0.02)
    return file.read_text()


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_end(pids: list[int], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while any(is_running(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(is_running(pid) for pid in pids)
