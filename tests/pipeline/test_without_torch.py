"""Without PyTorch the commands say how to get it."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from dse.errors import InputError
from dse.pipeline.__main__ import main


def test_without_torch_the_command_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "torch" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(InputError, match=r"dse pipeline probe needs PyTorch; pip install 'dse\[torch\]'"):
        main(["probe"])
