"""A schedule is one file: what is in the folder is found, and nothing else is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.inputs.strategies.schedules import SCHEDULES, find_schedules, kinds
from dse.prediction.steps.schedules import StageTimes
from tests.references.prediction.recurrence import Recurrence

EAGER = '''
"""GPipe with backward passes in the order of the forward passes."""

from dse.inputs.strategies.schedules.schedule import Schedule, Timetable, grid


def timetable(p, v, m):
    stage, _, batch = grid(p, v, m)
    return Timetable(stage + batch, p + m - 1 + (p - 1 - stage) + batch)


SCHEDULE = Schedule("eager", timetable)
'''


def test_a_file_is_a_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eager.py").write_text(EAGER)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    found = find_schedules()
    assert set(found) == {*SCHEDULES, "eager"}
    times = Recurrence(found["eager"], [[StageTimes(1, 2)]] * 4, 8, [0] * 4).run()
    assert times.makespan_s == (8 + 3) * 3
    assert times.in_flight == (8, 8, 8, 8)
