"""The dependencies between packages that docs/architecture.md draws, checked by import-linter."""

from __future__ import annotations

from package_copy import ROOT, WITHOUT_EDITABLE, run_python


def test_packages_import_downwards_only() -> None:
    """The contract stands in pyproject.toml."""
    lint = "from importlinter.cli import lint_imports\nsys.exit(lint_imports(no_cache=True))"
    assert "1 kept, 0 broken" in run_python(ROOT, "-c", WITHOUT_EDITABLE + lint)
