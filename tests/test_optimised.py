"""What the package refuses, it refuses under `python -O` too, which leaves out asserts."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import error_of, run_dse
from warm import OPTIMISED

ROOT = Path(__file__).parents[1]
IS_OPTIMISED = bool(os.environ.get(OPTIMISED))
# Files of bad input whose commands are run again without asserts; this one has what only asserts refused.
AGAIN = (
    "tests/test_optimised.py",
    "tests/commands/test_bad_input.py",
)
UNCHECKED = ("system=dgx_h100", "model=llama3_8b", "strategy.dp=64", "workload.divisibility=whole")


def asserts(folder: Path) -> Iterator[tuple[Path, ast.Assert]]:
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert):
                yield file, node


def narrows(test: ast.expr) -> bool:
    """Whether a condition only tells a type checker the type of what a check has seen already."""
    if isinstance(test, ast.Call):
        return isinstance(test.func, ast.Name) and test.func.id == "isinstance"
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.IsNot)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
    )


def test_asserts_of_the_package_check_no_input() -> None:
    """Asserts are for type checkers: whatever an input can make false is raised."""
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node.test)}"
        for file, node in asserts(ROOT / "dse")
        if "testing" not in file.parts and not narrows(node.test)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("assert on.is_checked", False),
        ("assert check(schedule)", False),
        ("assert not result.deadlock", False),
        ("assert isinstance(spec, Model) and spec.ok", False),
        ("assert row is not None", True),
        ("assert isinstance(spec, Model)", True),
    ],
)
def test_what_narrows(statement: str, expected: bool) -> None:
    (node,) = ast.parse(statement).body
    assert isinstance(node, ast.Assert)
    assert narrows(node.test) is expected


@pytest.mark.parametrize("command", ["point", "sweep"])
def test_a_setting_without_effect_is_refused(command: str, tmp_path: Path) -> None:
    line = [text for text in UNCHECKED if command == "point" or not text.startswith("strategy")]
    if command == "sweep":
        line.append("study=refused")
    message = error_of(command, *line, cwd=tmp_path)
    assert message.startswith(
        "workload.divisibility changes no prediction, and llama3_8b on dgx_h100 is predicted"
    )


def test_what_is_right_is_answered(tmp_path: Path) -> None:
    done = run_dse("point", *UNCHECKED[:2], "strategy.dp=8", "strategy.tp=8", "format=json", cwd=tmp_path)
    assert json.loads(done.out)["status"] == "ok"


@pytest.mark.skipif(IS_OPTIMISED, reason="this is the run without asserts")
def test_bad_input_is_refused_without_asserts() -> None:
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *AGAIN]
    done = subprocess.run(
        line, cwd=ROOT, env={**os.environ, OPTIMISED: "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert " passed, 1 skipped" in done.stdout
