"""What `make sweep` says while it installs; an installed checkout makes dse importable and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.base.files import conf_folder
from dse.base.lazy import extra, is_installed

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "engine" / "install_progress.py"
PIP = """\
Obtaining file:///home/me/dse
  Running command Preparing editable metadata (pyproject.toml)
Collecting hydra-core>=1.3.2 (from dse==0.2.0)
  Running command Building editable for dse (pyproject.toml)
  [7/67] Building CXX object CMakeFiles/dse_engine.dir/src/inputs/files/yaml.cpp.o
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


def elsewhere(program: str, folder: Path) -> str:
    """What a program prints whose folder is not the checkout and whose path is that of the installation."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_neither_the_checkout_nor_what_lies_next_to_it_is_on_the_path(tmp_path: Path) -> None:
    program = "import os, sys; print(*(os.path.realpath(path) for path in sys.path if path), sep='\\n')"
    paths = {Path(line) for line in elsewhere(program, tmp_path).splitlines()}
    assert not paths & {ROOT, ROOT / "dse", ROOT.parent}


def test_nothing_but_dse_can_be_imported_from_a_checkout(tmp_path: Path) -> None:
    beside = [path.name for path in (*ROOT.iterdir(), *ROOT.parent.iterdir()) if path.is_dir()]
    names = sorted(name for name in beside if name.isidentifier() and name != "dse")
    assert {"tests", "benchmarks", "conf"} <= set(names)
    program = f"""
from importlib.util import find_spec
from dse.base.files import conf_folder
places = [str(place) for name in {names} if (spec := find_spec(name))
          for place in (spec.submodule_search_locations or [])]
places = [place for place in places if "site-packages" not in place]
print([place for place in places if place.startswith({str(ROOT.parent) + os.sep!r})])
print(conf_folder())
"""
    assert elsewhere(program, tmp_path) == f"[]\n{conf_folder()}"


def test_a_folder_of_its_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "no_such_package").mkdir()
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text("import no_such_package.part")
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("no_such_package")
    assert not is_installed("absent_package")
    assert is_installed("numpy")
    for name in ("no_such_package", "absent_package", "broken_package"):
        with pytest.raises(InputError, match=r"^needs it$"):
            extra(name, "needs it")
    assert extra("json", "needs it").loads("1") == 1
