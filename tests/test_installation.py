"""What `make sweep` says while it installs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "engine" / "install_progress.py"
PIP = """\
Obtaining file:///home/me/dse
  Running command Preparing editable metadata (pyproject.toml)
Collecting hydra-core>=1.3.2 (from dse==0.2.0)
  Running command Building editable for dse (pyproject.toml)
  [7/67] Building CXX object CMakeFiles/dse_engine.dir/src/config/yaml.cpp.o
  [67/67] Linking CXX shared module _engine.so
Installing collected packages: numpy, ray, dse
"""


def installed(log: Path, text: str, code: int) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.stdout.write({text!r}); sys.exit({code})"
    line = [sys.executable, str(SCRIPT), str(log), sys.executable, "-c", program]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_each_step_is_a_line(tmp_path: Path) -> None:
    done = installed(tmp_path / "log", PIP, 0)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "  package hydra-core>=1.3.2",
        "compiling the engine",
        "  file 7/67",
        "  installing 3 packages",
        "done",
    ]
    assert (tmp_path / "log").read_text() == PIP


def test_a_failure_shows_the_end_of_the_log_and_its_exit_code(tmp_path: Path) -> None:
    done = installed(tmp_path / "log", "error: no compiler\n", 3)
    assert done.returncode == 3
    assert done.stderr == (
        f"error: no compiler\nthe installation failed; all of its output is in {tmp_path / 'log'}\n"
    )
