"""A copy of the package in a folder of its own, to be changed and run in place of the installed one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dse.native._engine
import dse.native._explorer
import dse.native._solvers

ROOT = Path(__file__).parents[1]
# An editable installation puts a finder before the path; without it the package of the path is found.
_EDITABLE = "ScikitBuildRedirectingFinder"
WITHOUT_EDITABLE = f"""import sys
sys.meta_path = [finder for finder in sys.meta_path if type(finder).__name__ != "{_EDITABLE}"]
"""


def copy_package(folder: Path) -> Path:
    """Copy the package, its configuration and its compiled engine into a folder."""
    for part in ("dse", "conf"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "_*.so"))
    for module in (dse.native._engine, dse.native._explorer, dse.native._solvers):
        shutil.copy(module.__file__, folder / "dse" / "native")
    (folder / "sitecustomize.py").write_text(WITHOUT_EDITABLE)
    return folder


def run_python(folder: Path, *arguments: str) -> str:
    """What Python prints in a folder whose package comes first on the path; it must succeed."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
