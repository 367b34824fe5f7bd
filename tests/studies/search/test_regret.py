"""`python -m dse regret`: found against the truth, with and without a cap."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dse.base.errors import InputError
from dse.commands import regret
from dse.studies.store import StudyRow, StudyStore
from dse.testing.spaces import Rows, points, space

ROWS = Rows()
OK = replace(ROWS.row(next(points(space("dp == 16")))), status="ok")
TRUTH = [
    replace(OK, key="a", wall_time_ns=100, peak_memory_bytes=90),
    replace(OK, key="b", wall_time_ns=120, peak_memory_bytes=50),
    replace(OK, key="c", wall_time_ns=150, peak_memory_bytes=40),
    replace(OK, key="d", status="infeasible", reason="x", wall_time_ns=None, peak_memory_bytes=None),
]


@pytest.fixture
def studies(tmp_path: Path) -> Path:
    _store(tmp_path / "truth", TRUTH)
    _store(tmp_path / "found", [TRUTH[2], TRUTH[3]])
    _store(tmp_path / "other", [replace(OK, key="x"), TRUTH[0]])
    return tmp_path


def _store(folder: Path, rows: list[StudyRow]) -> None:
    StudyStore.create(folder).append(rows)


def test_the_answer_with_and_without_a_cap(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(studies / "found"), f"truth={studies / 'truth'}", "memory_cap=60B"]
    assert regret.main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["memory_cap_bytes"], row["found_value"], row["best_value"]) for row in found] == [
        (None, 150, 100),
        (60, 150, 120),
    ]
    assert [row["relative"] for row in found] == [0.5, 0.25]
    assert (found[0]["evaluations"], found[0]["points"]) == (2, 4)
    assert regret.main([*arguments, "objective=wall_time_ns * npus"]) == 0
    assert "under 60 B: regret 25.00 % (found 2400, best 1920)" in capsys.readouterr().out


def test_nothing_that_fits_is_said(studies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(studies / "found"), f"truth={studies / 'truth'}", "memory_cap=10B"]
    assert regret.main(arguments) == 0
    assert "under 10 B: no point is ok and fits" in capsys.readouterr().out


def test_a_truth_that_lacks_points_is_refused(studies: Path) -> None:
    with pytest.raises(InputError, match="1 of 2 points of the searched study are not in the truth"):
        regret.main([str(studies / "other"), f"truth={studies / 'truth'}"])
