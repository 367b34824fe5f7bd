"""The optimiser of the engine for pages: only the version whose bytes are known, and none is no failure."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(__file__).parents[3] / "engine" / "wasm" / "build.py"


@pytest.fixture(scope="module")
def build() -> Any:
    spec = importlib.util.spec_from_file_location("wasm_build", BUILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(folder: Path, name: str, does: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("own", "fetched", "expected"),
    [
        ("echo wasm-opt version 132", "exit 1", "wasm-opt"),
        ("echo 'wasm-opt version 132 (version_132)'", "echo wasm-opt version 132", "wasm-opt"),
        ("echo wasm-opt version 99", "echo wasm-opt version 132", "of npm"),
        ("echo wasm-opt version 99", "exit 1", None),
        (None, "echo wasm-opt version 132", "of npm"),
        (None, None, None),
    ],
)
def test_the_optimiser_is_of_the_pinned_version_or_none(
    build: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    own: str | None,
    fetched: str | None,
    expected: str | None,
) -> None:
    of_npm = tmp_path / "build" / "npm" / "node_modules" / ".bin"
    of_npm.mkdir(parents=True)
    (tmp_path / "requirements").symlink_to(build.ROOT / "requirements")
    for folder, does in ((tmp_path, own), (of_npm, fetched)):
        if does is not None:
            command(folder, "wasm-opt", does)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = {"wasm-opt": ["wasm-opt"], "of npm": [str(of_npm / "wasm-opt")], None: []}
    assert build.optimiser() == wanted[expected]


def test_a_module_stays_as_it_is_without_an_optimiser(
    build: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    module = tmp_path / "engine.wasm"
    assert build.optimise(module, tmp_path) == module
    assert "stays about a third larger" in capsys.readouterr().err
