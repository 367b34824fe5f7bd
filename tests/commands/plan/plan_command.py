"""The command plan in one process: what its tests share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.commands.plan import __main__ as plan

FIRST = "first_profile=DeviceType.A100_tp1_bs16.json"


QUICK = ("model=tiny", "gbs=16", "max_tp=4", "cost=strict")


Run = Callable[..., str]


def keys(inputs: Path) -> list[str]:
    return [
        f"hostfile={inputs / 'hostfile'}",
        f"clusterfile={inputs / 'clusterfile.json'}",
        f"profiles={inputs / 'profiles'}",
        "type_order=[A100,V100]",
        "num_layers=10",
        "gbs=128",
    ]


def refused(*arguments: str) -> str:
    """The message of a user error, which a command prints in one line (tests of `dse.commands.cli`)."""
    with pytest.raises(InputError) as error:
        plan.main(arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def edited(inputs: Path, folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> str:
    """The key of a cluster file of which something is changed."""
    content = json.loads((inputs / "clusterfile.json").read_text(encoding="utf-8"))
    change(content)
    file = folder / name
    file.write_text(json.dumps(content), encoding="utf-8")
    return f"clusterfile={file}"
