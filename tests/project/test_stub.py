"""The .pyi files say what the compiled modules have: what type checkers see is what runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "dse" / "native"


@pytest.mark.parametrize("module", ["_engine", "_explorer", "_solvers"])
def test_the_stub_is_that_of_the_compiled_module(module: str, tmp_path: Path) -> None:
    pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed: pip install -e '.[dev]'")
    made = tmp_path / f"{module}.pyi"
    line = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", f"dse.native.{module}", "-o", str(made)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == (PACKAGE / f"{module}.pyi").read_text(), "make stubs"
