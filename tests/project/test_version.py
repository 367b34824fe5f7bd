"""The version of the package stands in one place, and is looked up only when somebody asks."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import dse

PACKAGE = Path(dse.__file__).parent


def test_the_version_is_that_of_the_installed_package() -> None:
    assert dse.__version__ == metadata.version("dse")
    pyproject = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^version = "(.*)"$', pyproject, re.MULTILINE) == [dse.__version__]


def test_no_module_repeats_it() -> None:
    pattern = re.compile(rf"__version__\s*=|[\"']{re.escape(dse.__version__)}[\"']")
    assert [path for path in PACKAGE.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_importing_the_package_does_not_look_it_up() -> None:
    code = "import sys, dse; raise SystemExit('importlib.metadata' in sys.modules)"
    assert subprocess.run([sys.executable, "-S", "-c", code], cwd=PACKAGE.parent, check=False).returncode == 0


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="module 'dse' has no attribute 'version'"):
        _ = dse.version  # type: ignore[attr-defined]
