"""The strategies that compete at other values of a number: predicted ones are asked for in blocks."""

from __future__ import annotations

import pytest

import dse
from dse.answers.whatif import candidates as module
from dse.answers.whatif.candidates import Candidates, first_of, fits
from dse.answers.whatif.parameters import parameters_of
from dse.studies.points import DesignPoint, strategy_of_row
from dse.studies.store import StudyRow

CAP = 80_000_000_000


@pytest.fixture(name="rows", scope="module")
def rows_of_a_sweep(tmp_path_factory: pytest.TempPathFactory) -> list[StudyRow]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("study"))
        asked = ["system=dgx_h100", "system.nodes=2", "model=llama3_8b", "space.micro_batch=[1,2]"]
        return dse.sweep_study(overrides=asked).rows()


def test_predictions_at_another_value_are_one_block_and_equal_to_single_ones(
    rows: list[StudyRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    best = first_of([row for row in rows if fits(row, CAP)])
    assert best is not None
    single: list[DesignPoint] = []

    def counted(point: DesignPoint) -> StudyRow:
        single.append(point)
        return dse.evaluate(point)

    monkeypatch.setattr(module, "evaluate", counted)
    known = Candidates(rows, best, CAP)
    assert len(known.rows) > 100
    for parameter in parameters_of(known.scenario.system, known.scenario.method):
        for factor in (0.25, 4.0):
            before = len(single)
            value = parameter.scaled(factor)
            found = known.winner_at(parameter, value)
            assert len(single) == before + 1  # the winner of today
            scenario = parameter.applied_to(known.scenario, value)
            others = [dse.evaluate(DesignPoint(scenario, strategy)) for strategy in known.rows]
            assert found == first_of([row for row in others if fits(row, CAP)])
            assert strategy_of_row(found) in known.rows
