"""What-ifs that can be checked: predicted from the trace of a plain job, then the changed job is run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dse.simulation.recorded.changes import Changes
from dse.simulation.recorded.pytorch import read_recorded
from dse.simulation.recorded.replay import replayed
from dse.simulation.recorded.step import RecordedStep

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: make torch"
)

PROGRAM = Path(__file__).parent / "torch_whatifs.py"
DELAY_NS = 90_000_000
"""As DELAY_S of the program."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whatifs")
    jobs = [f"{job}-{turn}:2" for turn in range(3) for job in ("plain", "delayed", "doubled")]
    line = [sys.executable, str(PROGRAM), str(folder), *jobs]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def fastest(folder: Path, job: str) -> RecordedStep:
    """Return the one of three runs that other programs held up least."""
    steps = [read_recorded([folder / f"{job}-{turn}.2"]) for turn in range(3)]
    return min(steps, key=lambda step: int(step.measured_ns.max()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "changes"),
    [
        ("delayed", {"latency_added_ns": DELAY_NS}),
        ("doubled", {"work_factor": 2, "work_ranks": "half"}),
    ],
)
def test_a_changed_job_takes_what_the_plain_one_predicts(
    runs: Path, job: str, changes: dict[str, Any]
) -> None:
    """The plain step takes 0.4 s. Of six delays one shows, behind the last layer; work adds another 0.4 s."""
    plain = fastest(runs, "plain")
    measured_ns = int(fastest(runs, job).measured_ns.max())
    predicted = replayed(plain, Changes(**changes))
    assert predicted.step_ns == pytest.approx(measured_ns, rel=0.10)
    assert measured_ns > 1.1 * plain.measured_ns.max()
