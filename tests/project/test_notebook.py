"""The notebook runs from top to bottom, says what the tutorial says, and is stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "lab.ipynb"


def test_the_notebook_is_stored_without_outputs() -> None:
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert "infinite memory: dp=64 tp=1 sp=1 recompute=False, 3.180 s, 144.2 GB" in text
    assert "80 GB: dp=32 tp=2 sp=1 recompute=True, 3.881 s, 39.4 GB" in text
    assert "26 of 28 fit with recompute, 0 without" in text
    assert "10.59 s, 20.4 GB" in text
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 2
    assert not list(tmp_path.iterdir())
