"""The tutorial's commands run in its order, and print what stands below them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command_lines import run_ok

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
_PAIR = re.compile(r"^```bash\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
STEPS = _PAIR.findall(PAGE.read_text())


def test_the_tutorial_has_its_steps() -> None:
    assert len(STEPS) >= 11
    assert sum(bool(printed) for _, printed in STEPS) >= 6


@pytest.mark.slow
def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    """All lines, in their order, but for `…`, where others may stand."""
    for commands, printed in STEPS:
        out = ""
        for line in commands.splitlines():
            _, verb, *arguments = shlex.split(line)
            out += run_ok(verb, *arguments, cwd=tmp_path).out
        position = 0
        for expected in printed.splitlines():
            if expected == "…":
                continue
            found = f"\n{out}".find(f"\n{expected}\n", position)
            assert found >= 0, f"{commands}: {expected}"
            position = found + 1
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
