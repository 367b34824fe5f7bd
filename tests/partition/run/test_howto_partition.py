"""The how-to on partitions: its commands run in order, and write in results/ alone."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_lines import run_ok

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "partition.md"
COMMANDS = [
    line
    for block in re.findall(r"^```shell\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    for line in block.splitlines()
]


def test_the_commands_run_in_order(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: make torch")
    (tmp_path / "results").mkdir()
    printed = ""
    for line in COMMANDS:
        program, verb, *arguments = shlex.split(line)
        assert program == "dse"
        printed += run_ok(verb, *arguments, cwd=tmp_path).out
    assert len(COMMANDS) == 4
    assert "results/mixture.json: 48 operators" in printed
    assert "48 nodes, 54 edges" in printed
    # Where the probe finds links that are slow, on a busy machine, one device is the proven best of two.
    used = 1 if "(0 cut) on 2 devices" in printed else 2
    processes = ("1 process", "2 processes")[used - 1]
    ran = f"mixture: 1f1b, {processes}, 8 micro-batches of 8, 10 steps\nlosses equal those of one process"
    assert ran in printed
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
