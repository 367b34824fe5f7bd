"""Dependencies between packages and files, and the layout, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

from import_circles import circle, imports_of
from package_copy import ROOT, WITHOUT_EDITABLE, run_python

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_packages_import_downwards_only() -> None:
    """The contract stands in pyproject.toml."""
    lint = "from importlinter.cli import lint_imports\nsys.exit(lint_imports(no_cache=True))"
    assert "1 kept, 0 broken" in run_python(ROOT, "-c", WITHOUT_EDITABLE + lint)


def test_no_file_imports_itself_in_a_circle() -> None:
    """All imports count, those in functions and those for type checkers too."""
    imports = imports_of(ROOT / "dse")
    assert len(imports) > 500
    assert circle(imports) == []


def test_a_circle_of_files_is_found_wherever_its_imports_stand(tmp_path: Path) -> None:
    """One import is in a function, one for type checkers, one names the package."""
    package = tmp_path / "house"
    (package / "room").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "room" / "__init__.py").write_text("from house.roof import tile\n")
    (package / "roof.py").write_text("def tile():\n    from house import wall\n")
    types = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house.room import tile\n"
    (package / "wall.py").write_text(types)
    found = circle(imports_of(package))
    assert found[0] == found[-1]
    steps = set(pairwise(found))
    assert steps == {("house.room", "house.roof"), ("house.roof", "house.wall"), ("house.wall", "house.room")}
    (package / "wall.py").write_text("import house.room.nothing\n")
    assert circle(imports_of(package)) == []


def test_the_package_has_few_entries() -> None:
    """Ten wings, the compiled engine, and the files of the two commands."""
    entries = {path.name for path in (ROOT / "dse").iterdir()} - {"__pycache__"}
    assert len(entries) <= 16, sorted(entries)


def test_the_page_draws_the_contract() -> None:
    """The drawing has the lines of the contract, and the layout every wing of it."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contract = project.split("[[tool.importlinter.contracts]]")[1]
    layers = ast.literal_eval(re.findall(r"^layers = (\[.*?^\])", contract, re.S | re.M)[0])
    drawing = PAGE.split("## Dependencies between packages")[1].split("```text\n")[1].split("```")[0]
    assert [line.split("  ")[0] for line in drawing.splitlines()] == layers
    layout = PAGE.split("```text\n")[1].split("```")[0]
    wings = {path.parent.name for path in (ROOT / "dse").glob("*/__init__.py")}
    assert set(re.findall(r"^  (\w+)/ ", layout.split("engine/")[0], re.M)) == wings
