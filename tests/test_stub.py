"""dse/_engine.pyi says what the compiled module has: what type checkers see is what runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

STUB = Path(__file__).parents[1] / "dse" / "_engine.pyi"


def test_the_stub_is_that_of_the_compiled_module(tmp_path: Path) -> None:
    pytest.importorskip("nanobind.stubgen", reason="nanobind is not installed: pip install -e '.[dev]'")
    made = tmp_path / "_engine.pyi"
    line = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "dse._engine", "-o", str(made)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert made.read_text() == STUB.read_text(), "make stubs"
