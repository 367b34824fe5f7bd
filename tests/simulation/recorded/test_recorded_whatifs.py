"""What-ifs that can be checked: predicted from the trace of a plain job, then the changed job is run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dse.simulation.recorded.changes import Changes
from dse.simulation.recorded.replay import replayed

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: make torch"
)

PROGRAM = Path(__file__).parent / "torch_whatifs.py"
DELAY_NS = 80_000_000
"""As DELAY_S of the program."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whatifs")
    line = [sys.executable, str(PROGRAM), str(folder), "plain:2", "delayed:2", "doubled:2"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


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
    """The plain step takes 0.28 s; both changes add half of it or more."""
    from dse.simulation.recorded.pytorch import read_recorded

    plain = read_recorded([runs / "plain.2"])
    measured_ns = int(read_recorded([runs / f"{job}.2"]).measured_ns.max())
    predicted = replayed(plain, Changes(**changes))
    assert predicted.step_ns == pytest.approx(measured_ns, rel=0.10)
    assert measured_ns > 1.3 * plain.measured_ns.max()
