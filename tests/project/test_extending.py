"""The packages of docs/extending, as they stand there: installed, found by name, and used by a sweep."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dse.studies.store import StudyStore

PAGES = Path(__file__).parents[2] / "docs" / "extending"
_PACKAGE = re.compile(r'```python title="(\w+)/__init__\.py"\n(.*?)```', re.DOTALL)
_ENTRY = re.compile(r'entry-points\."([\w.]+)"\]\n(\w+) = "([\w:]+)"')
_TEST = re.compile(r'```python title="(test_\w+\.py)"\n(.*?)```', re.DOTALL)
_COMMAND = re.compile(r"^dse (sweep .*)", re.MULTILINE)

TWICE = """

class Twice(Serial):
    def run(self, points):
        for index, row in super().run(points):
            yield from ((2 * index, row), (2 * index + 1, row))
"""


def install(page: str, site: Path) -> None:
    """Put the packages of a page into a folder, as pip would: their code, and their metadata."""
    text = (PAGES / f"{page}.md").read_text()
    packages, entries = _PACKAGE.findall(text), _ENTRY.findall(text)
    assert packages
    for (name, code), (group, choice, function) in zip(packages, entries, strict=True):
        assert function.startswith(f"{name}:")
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text(code)
        metadata = site / f"{name}-1.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (metadata / "entry_points.txt").write_text(f"[{group}]\n{choice} = {function}\n")


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), str(root)])}
    return subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("page", "points", "options"),
    [
        ("simulator", 30, '"simulator":{"name":"faster","speedup":"1000000.0","version":"1"}'),
        ("workload", 30, '"workload":{"factor":"3","name":"deeper"}'),
        ("search", 10, '"simulator":{"name":"native"}'),
        ("executor", 30, '"simulator":{"name":"native"}'),
    ],
)
def test_a_package_of_the_user_is_a_choice(page: str, points: int, options: str, tmp_path: Path) -> None:
    install(page, tmp_path / "site")
    (command,) = _COMMAND.findall((PAGES / f"{page}.md").read_text())
    done = run(f"dse {command} study=mine", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = StudyStore(tmp_path / "results" / "mine").read_table(["options"])
    assert rows.num_rows == points
    assert all(options in text for text in rows["options"].to_pylist())


@pytest.mark.parametrize(
    ("page", "passed"), [("simulator", 9), ("workload", 8), ("search", 4), ("executor", 16), ("solver", 6)]
)
def test_a_package_of_the_user_passes_the_contract(page: str, passed: int, tmp_path: Path) -> None:
    install(page, tmp_path / "site")
    ((name, code),) = _TEST.findall((PAGES / f"{page}.md").read_text())
    (tmp_path / name).write_text(code)
    done = run(f"pytest -q -p no:cacheprovider {name}", tmp_path)
    assert f"{passed} passed in" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("synthesize system=torus_4x4 synthesizer=one_run", "synthesizer  one_run, seed 0, 1 runs"),
        ("partition model=tiny devices=4 partitioner=least_loaded", "on 4 devices; least_loaded, "),
        (
            "plan cluster=a100_v100 model=tiny gbs=8 cost=strict planner=hasty",
            "planner hasty, cost model strict",
        ),
    ],
)
def test_a_search_of_the_user_answers_a_question(command: str, answer: str, tmp_path: Path) -> None:
    install("solver", tmp_path / "site")
    done = run(f"dse {command}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert answer in done.stdout


def test_names_of_packages_are_listed_beside_ours(tmp_path: Path) -> None:
    install("solver", tmp_path / "site")
    done = run("dse partition model=tiny devices=4 partitioner=best", tmp_path)
    assert done.stderr == "error: partitioner is 'best'; allowed are auto, fast, exact, least_loaded\n"


def test_a_package_that_breaks_the_contract_fails_with_the_values_compared(tmp_path: Path) -> None:
    install("executor", tmp_path / "site")
    ((name, code),) = _TEST.findall((PAGES / "executor.md").read_text())
    (tmp_path / name).write_text(code.replace("return Serial()", "return Twice()") + TWICE)
    done = run(f"pytest -q -p no:cacheprovider {name} -k a_recorded_point", tmp_path)
    assert "1 failed" in done.stdout
    assert "assert [0, 1] == [0]" in done.stdout


def test_choices_of_packages_are_listed_and_their_mistakes_said_in_one_line(tmp_path: Path) -> None:
    for page in ("simulator", "workload"):
        install(page, tmp_path / "site")
    wrong = {
        "simulator=fastr": "error: simulator 'fastr' is unknown; did you mean 'faster'? Available are "
        "astrasim, faster, native\n",
        "simulator.name=fastr": "error: simulator.name is 'fastr'; allowed are native, astrasim, faster; "
        "did you mean 'faster'?\n",
        "simulator=faster simulator.binary=x": "error: simulator.binary is 'x', but simulator is faster; "
        "write simulator=astrasim too\n",
        "simulator=native simulator.options.speedup=2": "error: simulator.options.speedup is '2', but "
        "simulator is native, which has no options; they are for choices that other packages add\n",
        "workload=deeper workload.options.factor=0": "error: workload.options.factor is 0; it must be an "
        "integer of at least 1\n",
    }
    for overrides, message in wrong.items():
        done = run(f"dse point system=dgx16 model=tiny {overrides}", tmp_path)
        assert (done.returncode, done.stderr) == (2, message)
    (tmp_path / "site" / "faster_dse" / "__init__.py").write_text("import nowhere_to_be_found\n")
    done = run("dse point system=dgx16 model=tiny simulator=faster", tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: simulator 'faster' cannot be loaded from faster_dse:make: "
        "No module named 'nowhere_to_be_found'\n"
    )
