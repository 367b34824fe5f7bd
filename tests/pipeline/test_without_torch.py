"""Without PyTorch the commands say how to get it."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from dse.errors import InputError
from dse.partition.steps import StageGraph
from dse.pipeline.__main__ import main
from dse.pipeline.comparison import least_step_ns


def test_without_torch_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "torch" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(InputError, match=r"dse pipeline probe needs PyTorch; pip install 'dse\[torch\]'"):
        main(["probe"])


def test_a_step_is_no_shorter_than_all_work_on_all_cores() -> None:
    """8 micro-batches of 10 + 30 ns and twice that backward, and 40 ns of optimizers, on two cores."""
    stages = StageGraph((10.0, 30.0), {(0, 1): 4.0}, backward=2.0, after_ns=(15.0, 25.0))
    assert least_step_ns(stages, 8, 2) == 500.0
