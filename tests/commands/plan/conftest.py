"""Inputs of the command plan, and how tests run it."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from plan_command import Run

from dse.commands.plan import __main__ as plan
from dse.planner.problem.inputs.synthetic import write_half_and_half, write_synthetic_profiles
from dse.studies.config import compose_config


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """16 V100 and 16 A100 in hosts of four, and profiles of ten layers: row 1 of the reference table."""
    folder = tmp_path_factory.mktemp("inputs")
    write_half_and_half(folder / "hostfile", folder / "clusterfile.json", 32)
    write_synthetic_profiles(folder / "profiles", 10)
    return folder


_model = functools.cache(lambda words: compose_config(list(words)).model)


@pytest.fixture(autouse=True)
def models_are_composed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("shared", "sweep"):
        monkeypatch.setattr(f"dse.commands.plan.{module}.model_of", lambda words: _model(tuple(words)))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command and returns what it prints; notes are in `run.notes`."""

    def go(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert plan.main(arguments) == code
        printed = capsys.readouterr()
        go.notes = printed.err  # type: ignore[attr-defined]
        return printed.out

    return go
