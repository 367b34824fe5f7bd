"""What is made here is checked before it is shown, also by `python -O`, which leaves out assertions."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from schedules import MIB, greedy, ring

from dse.collectives import Collective, Problem, Schedule
from dse.collectives.check.symmetric import checked
from dse.collectives.check.verdict import InvalidSchedule
from dse.collectives.robust.answer import robust
from dse.collectives.robust.failures import Failure
from dse.collectives.robust.repair import Repair, repair
from dse.collectives.search.synthesis import synthesize
from dse.collectives.search.synthesizers.base import Effort

PROBLEM = Problem(ring(4), Collective("all_gather", 4), MIB)


def cut_short(schedule: Schedule) -> Schedule:
    """The same without its last send, so that an NPU lacks a chunk."""
    columns = ("link", "chunk", "start_ps", "reduce")
    return Schedule(schedule.problem, *(getattr(schedule, name)[:-1] for name in columns))


def test_an_invalid_schedule_is_refused_with_its_rule_and_synthesizer() -> None:
    with pytest.raises(
        InvalidSchedule, match=r"of greedy is invalid: rule 4: NPU \d never gets chunk \d; 1 in"
    ):
        checked(cut_short(greedy(PROBLEM)), "greedy")


def test_a_repair_over_a_link_that_has_failed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = synthesize(PROBLEM, "greedy", Effort(trials=1))
    failure = Failure.of(PROBLEM.graph, [(0, 1), (1, 0)])
    assert robust(result, failure, None, Effort(trials=1)).repaired is not None

    def careless(schedule: Schedule, failure: Failure, effort: Effort, slack: float) -> Repair:
        return replace(repair(schedule, failure, effort, slack=slack), repaired=schedule)

    monkeypatch.setattr("dse.collectives.robust.answer.repair", careless)
    with pytest.raises(InvalidSchedule, match="a send is over a link that has failed"):
        robust(result, failure, None, Effort(trials=1))


SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from test_checked import PROBLEM, cut_short
from schedules import greedy
from dse.collectives.check.symmetric import checked
from dse.collectives.check.verdict import InvalidSchedule
assert False, "-O leaves this out"
try:
    print(checked(cut_short(greedy(PROBLEM)), "greedy"))
except InvalidSchedule:
    print("refused")
"""


def test_an_invalid_schedule_is_refused_without_assertions_too() -> None:
    script = SCRIPT.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
