"""The commands of the tutorial on plans run in its order, and print what stands below them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dse.commands.plan import __main__ as plan

PAGE = Path(__file__).parents[2] / "docs" / "tutorial_planner.md"
_PAIR = re.compile(r"^```bash\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
STEPS = _PAIR.findall(PAGE.read_text())


def test_the_commands_print_what_the_tutorial_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All lines, in their order, but for `…`, where others may stand."""
    monkeypatch.chdir(tmp_path)
    assert len([printed for _, printed in STEPS if printed]) >= 6
    for commands, printed in STEPS:
        for line in commands.splitlines():
            dse, verb, *arguments = shlex.split(line)
            assert (dse, verb) == ("dse", "plan")
            assert plan.main(arguments) == 0
        out = capsys.readouterr().out
        position = 0
        for expected in printed.splitlines():
            if expected == "…":
                continue
            found = f"\n{out}".find(f"\n{expected}\n", position)
            assert found >= 0, f"{commands}: {expected}"
            position = found + 1
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    assert "<span class=" in (tmp_path / "results" / "plan" / "index.html").read_text(encoding="utf-8")
