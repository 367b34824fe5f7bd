"""Plans on Sailor's own inputs: never slower than what it publishes, and as the guide says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import run_ok

ROOT = Path(__file__).parents[2]
INPUTS = ROOT / "tests" / "golden" / "planner" / "sailor"
GUIDE = (ROOT / "docs" / "planner.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^(\d+) \+ (\d+) \| ([\d.]+) s \| ([\d.]+) s \(−(\d+) %\)$", GUIDE, re.MULTILINE)


def test_the_guide_has_the_three_clusters() -> None:
    assert [(a100, v100, sailor) for a100, v100, sailor, *_ in ROWS] == [
        ("32", "96", "5.260"),
        ("80", "240", "2.760"),
        ("128", "384", "1.902"),
    ]


@pytest.mark.parametrize(("a100", "v100", "sailor", "ours", "less_pct"), ROWS)
def test_the_best_plan_is_that_of_the_guide(
    tmp_path: Path, a100: str, v100: str, sailor: str, ours: str, less_pct: str
) -> None:
    files = [f"hostfile={INPUTS}/hosts_{a100}_{v100}", f"clusterfile={INPUTS}/cl2_{a100}_{v100}.json"]
    done = run_ok("plan", f"profiles={INPUTS}/metis", *files, "gbs=1024", cwd=tmp_path)
    (found,) = re.findall(r"^([\d.]+) s per step; proven optimal", done.out, re.MULTILINE)
    assert float(found) == float(ours)
    assert round(100 * (1 - float(found) / float(sailor))) == int(less_pct)
