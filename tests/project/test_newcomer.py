"""The newcomer's path of the README, as it stands there, in a copy of the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
_PATH = re.compile(r"<!-- newcomer.*?-->\n```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "build", "*.parquet", "__pycache__", ".*_cache")


def path() -> list[str]:
    (block,) = _PATH.findall((ROOT / "README.md").read_text())
    return str(block).splitlines()


def here(line: str, environment: Path) -> str:
    """The same step with what is installed already: no clone from afar, no second environment."""
    if line.startswith("git clone "):
        return ":"
    if line == ". .venv/bin/activate":
        return f"export PATH={environment / 'bin'}:$PATH"
    if line.startswith("dse "):  # the script of an editable installation leads elsewhere
        return f"python -m {line}"
    if line.startswith("make "):  # -o: the environment counts as up to date
        stamps = " ".join(f"-o {environment / stamp}" for stamp in (".base", ".installed"))
        return f"make {stamps} VENV={environment} {line.removeprefix('make ')}"
    return line


def test_the_path_has_every_step() -> None:
    lines = path()
    for start in ("git clone", "cd dse", "make sweep", "dse report", "dse sweep"):
        assert any(line.startswith(start) for line in lines), start
    assert lines[-1].startswith("dse compare results/")
    assert any("bandwidth_gbps=" in line for line in lines)
    assert len(lines) <= 8


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("make") and shutil.which("bash")), reason="needs make and bash")
def test_a_newcomer_gets_through(tmp_path: Path) -> None:
    shutil.copytree(ROOT, tmp_path / "dse", ignore=_NOT_COPIED)
    environment = Path(sys.prefix)
    script = "\n".join(here(line, environment) for line in path())
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
    )
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text().partition("## The sweep of the lab")[2]
    for answer in re.findall(r"^  (?:best|runner-up) .*$", readme, re.MULTILINE):
        assert answer in done.stdout
    assert "  system.network.0.bandwidth_gbps  100 -> 200\n" in done.stdout
    folder = tmp_path / "dse"
    assert "<html" in (folder / "results" / "report.html").read_text()[:200]
    for study in ("llama70b-system1", "faster"):
        assert pq.read_table(folder / "results" / study, columns=["status"]).num_rows == 56
