"""Imports between the files of a package, and the circles in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path


def imports_of(package: Path) -> dict[str, set[str]]:
    """The modules of the package that each of its modules imports: at its top, in functions, for types."""
    files = {_module(package, path): path for path in package.rglob("*.py")}
    return {
        name: {found for found in _imported(path, files) if found != name} for name, path in files.items()
    }


def circle(imports: Mapping[str, set[str]]) -> list[str]:
    """Modules of one circle, each importing the next, from the first to itself; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]  # the sorter lists who is imported first
    return []


def _module(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path, files: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found = full if full in files else node.module
                if found in files:
                    yield str(found)
