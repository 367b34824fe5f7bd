"""Reading settings loads no engine and nothing that is slow to load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "dse.native._engine",
    "dse.native._solvers",
    "hydra",
    "numpy",
    "omegaconf",
    "optuna",
    "pandas",
    "pyarrow",
    "ray",
)


def test_the_configuration_loads_neither_the_engine_nor_arrow() -> None:
    code = f"import dse.studies.config, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


WITHOUT_SOLVERS = """
import runpy, sys
sys.modules["dse.native._solvers"] = None
runpy.run_module("dse", run_name="__main__")
"""


def without_solvers(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-c", WITHOUT_SOLVERS, *command.split()]
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder)


def test_a_sweep_its_answers_and_points_need_no_solvers(tmp_path: Path) -> None:
    for command in (
        "sweep system=dgx16 model=tiny results_dir=. study=s",
        "best s",
        "explain s",
        "report s -o s.html",
        "point system=dgx16 model=tiny strategy.dp=16",
    ):
        done = without_solvers(command, tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command


@pytest.mark.parametrize(
    "command",
    [
        "synthesize system=torus_4x4 collective=all_gather",
        "sweep system=torus_4x4 model=tiny system.collectives.all_gather=[synthesized] results_dir=. study=s",
        "plan cluster=a100_v100 model=megatron_1.7b gbs=128",
        "partition model=tiny devices=torus_4x4 objective=pipeline_bottleneck",
    ],
)
def test_what_needs_the_solvers_says_so_without_them(command: str, tmp_path: Path) -> None:
    done = without_solvers(command, tmp_path)
    expected = "error: the solvers of schedules, plans and partitions are not built; write make install\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


@pytest.mark.parametrize(
    ("missing", "error"), [("dse.native._solvers", "InputError"), ("dse.native._engine", "ImportError")]
)
def test_only_solvers_that_are_left_out_are_the_users_matter(missing: str, error: str) -> None:
    """The solvers import the engine, whose absence is a broken installation."""
    code = (
        f"import sys; sys.modules['{missing}'] = None\n"
        "try: import dse.base.solvers\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{error}\n"


def test_every_name_of_a_lazy_package_is_there() -> None:
    """The names that type checkers see are those that are loaded when they are asked for."""
    import ast
    import importlib

    for name in (
        *("dse.studies.executors", "dse.studies.search"),
        *("dse.simulation.simulators", "dse.simulation.workloads"),
    ):
        package = importlib.import_module(name)
        imports = [
            node
            for node in ast.walk(ast.parse(Path(str(package.__file__)).read_text()))
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"{name}.")
        ]
        assert len(imports) >= 5
        for node in imports:
            for alias in node.names:
                home = importlib.import_module(str(node.module))
                assert getattr(package, alias.name) is getattr(home, alias.name)
