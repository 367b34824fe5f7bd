"""Runs of plans that shrink: the speed without a node is that of the plan for when one fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.commands.plan.__main__ import main as plan
from dse.commands.run import main as run

WORDS = ["cluster=h100_a100", "model=llama3_8b", "gbs=128", "launchable=megatron-lm", "max_tp=1"]


def _run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return dict(found)


@pytest.mark.slow
def test_a_plan_shrinks_to_its_replan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its two kinds of nodes: the one whose loss slows it most says the speed, and its step is the plan's."""
    folder = tmp_path / "p"
    assert plan([*WORDS, "-o", str(folder)]) == 0
    asked = (str(folder), "tokens=1T", "spares=0")
    waits, shrinks = (_run(capsys, *asked, f"elastic={word}") for word in ("wait", "shrink"))
    assert plan(["fail", *WORDS, "format=json"]) == 0
    answers = json.loads(capsys.readouterr().out)["answers"]
    document = json.loads((folder / "plan.json").read_text())
    slower = max(one["fastest"]["step_ms"] for one in answers) / document["best"]["cost_ms"] - 1
    assert waits["step_s"] == pytest.approx(document["best"]["cost_ms"] / 1e3)
    assert shrinks["time_by_choice_s"]["wait"] == pytest.approx(waits["time_s"], rel=1e-12)
    broken = sum(waits["failures_per_s"].values()) * 0.766 * 86400  # share of nodes lost, repaired in a day
    longer = shrinks["parts_s"]["fewer replicas"] / (waits["step_s"] * waits["steps"])
    assert longer == pytest.approx(broken * slower, rel=0.5)
    document["provenance"]["command"] = ["dse", "plan", *WORDS[:2], "gbs=64", *WORDS[3:]]
    (folder / "plan.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="its cluster or model has changed since; run dse plan cluster"):
        run([*asked, "elastic=best"])
