"""Reading settings loads no engine and nothing that is slow to load."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("dse._engine", "hydra", "numpy", "omegaconf", "optuna", "pandas", "pyarrow", "ray")


def test_the_configuration_loads_neither_the_engine_nor_arrow() -> None:
    code = f"import dse.config, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_name_of_a_lazy_package_is_there() -> None:
    """The names that type checkers see are those that are loaded when they are asked for."""
    import ast
    import importlib
    from pathlib import Path

    for name in ("dse.executors", "dse.search", "dse.simulators", "dse.workloads"):
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
