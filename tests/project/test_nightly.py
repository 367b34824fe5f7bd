"""What only runs at night does run then."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_make_nightly_runs_every_test_that_waits_for_it() -> None:
    recipe = re.search(
        r"^nightly:.*\n\t.* -m pytest -n \$\(JOBS\) ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.M
    )
    assert recipe is not None
    run = [ROOT / place for place in recipe[1].replace("\\\n", " ").split()]
    waiting = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if path != Path(__file__) and "DSE_NIGHTLY" in path.read_text(encoding="utf-8")
    ]
    assert len(waiting) >= 2
    for path in waiting:
        assert any(path == place or place in path.parents for place in run), path
