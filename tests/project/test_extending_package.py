"""The diffs of docs/extending that change the package, applied to a copy: it does what the pages say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_lines import TINY
from package_copy import ROOT, copy_package, run_python

_FILE = re.compile(r"^\+\+\+ b/(.+)$")


def changes(page: str) -> dict[str, list[tuple[str, str]]]:
    """Per file of the diffs of a page, its lines before and after."""
    found: dict[str, list[tuple[str, str]]] = {}
    text = (ROOT / "docs" / "extending" / f"{page}.md").read_text()
    for block in re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if match := _FILE.match(line):
                lines = found.setdefault(match[1], [])
            elif not line.startswith("--- "):
                lines.append((line[:1] or " ", line[1:]))
    return found


def changed_copy(page: str, folder: Path) -> list[str]:
    """Copy the package into a folder and apply the diffs of a page; return the files that they touch."""
    copy_package(folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, lines in changes(page).items():
        before, after = (
            "".join(f"{text}\n" for kind, text in lines if kind in kinds) for kinds in (" -", " +")
        )
        path = folder / name
        text = path.read_text() if path.exists() else ""
        assert text.count(before) == 1 or not text, name
        path.write_text(text.replace(before, after) if text else after)
    return list(changes(page))


def test_a_column_is_stored_and_asked_for(tmp_path: Path) -> None:
    assert changed_copy("column", tmp_path) == [
        "dse/studies/store/schema.py",
        "dse/studies/points/methods/simulation.py",
    ]
    shutil.copytree(ROOT / "tests" / "studies" / "store" / "study_of_0_2_0", tmp_path / "results" / "old")
    run_python(tmp_path, "-m", "dse", "sweep", *TINY, "space.sp=[1]", "study=new")
    where = ["where=cpu_time_ns == 0"]
    answer = json.loads(run_python(tmp_path, "-m", "dse", "best", "results/new", "--json", *where))
    assert answer["best"]["cpu_time_ns"] == 0
    program = (
        "import dse; print(set(dse.StudyStore('results/old').read_table(['cpu_time_ns'])[0].to_pylist()))"
    )
    assert run_python(tmp_path, "-c", program) == "{None}\n"


def test_a_command_is_found_and_allowed(tmp_path: Path) -> None:
    assert changed_copy("command", tmp_path) == ["dse/commands/tally.py"]
    assert "tally        how many points of a study each model and system has" in run_python(
        tmp_path, "-m", "dse", "--help"
    )
    run_python(tmp_path, "-m", "dse", "sweep", *TINY, "space.sp=[1]", "study=new")
    assert run_python(tmp_path, "-m", "dse", "tally", "results/new") == "10 points of tiny on torus_4x4\n"
    assert json.loads(run_python(tmp_path, "-m", "dse", "tally", "results/new", "--json")) == {
        "model": "tiny",
        "system": "torus_4x4",
        "points": 10,
    }
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    pytest.importorskip("importlinter")
    assert "1 kept, 0 broken" in run_python(tmp_path, "-c", code)
