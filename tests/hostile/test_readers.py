"""Readers under attack: thousands of mutated files are read, or refused in one line each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hostile.readers import READERS
from warm import run_warm

_HERE = Path(__file__).parent
_NIGHTLY_CPU_S = 600
"""Of all readers together, in `make nightly`."""
_SHORT_INPUTS = 60
_WALL_PER_CPU = 12
"""A machine that does other things too must not look like a hang."""


def attack(name: str, folder: Path, seed: int, count: int, cpu_s: float) -> dict[str, object]:
    """Read mutated files in a process of its own; fail where it dies or hangs."""
    arguments = [name, str(folder), str(seed), str(count), str(cpu_s)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", "/secret-of-the-home")
        code, said, errors = run_warm(
            str(_HERE / "run.py"), arguments, folder, timeout_s=(cpu_s + 60) * _WALL_PER_CPU
        )
    assert code == 0, f"{code}: {errors[-3000:]}; its input is in {folder}"
    outcome: dict[str, object] = json.loads(said.splitlines()[-1])
    return outcome


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    outcome = attack(name, tmp_path, 1, _SHORT_INPUTS, 30)
    assert outcome["failures"] == []
    assert outcome["read"] != 0  # the seed itself is valid
    assert outcome["refused"] != 0


@pytest.mark.skipif(not os.environ.get("DSE_NIGHTLY"), reason="runs in make nightly: DSE_NIGHTLY=1")
@pytest.mark.parametrize("name", READERS)
def test_ten_minutes_of_mutated_files_are_read_or_refused_in_one_line(name: str, tmp_path: Path) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    outcome = attack(name, tmp_path, seed, 10**9, _NIGHTLY_CPU_S / len(READERS))
    print(f"{name}, seed {seed}: {outcome['read']} read, {outcome['refused']} refused")
    assert outcome["failures"] == []
