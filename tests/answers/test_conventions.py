"""What is said below answers: what MFU counts, and how sure a difference is."""

from __future__ import annotations

import pytest
from study_rows import row

from dse.answers import conventions as subject
from dse.answers import render, select
from dse.studies.store import StudyRow

REALISTIC = '{"fidelity":"realistic","name":"m"}'
REPAIRED = '{"fidelity":"stage","name":"m","repairs":{"loss":true,"recompute":null}}'
STAGE = '{"fidelity":"stage","name":"m","repairs":{"loss":null}}'
UNKNOWN = "times of this fidelity are not calibrated: how small a difference still counts is not known"


def two(model: str | None, slower: float = 1.02) -> tuple[StudyRow, StudyRow]:
    return (
        row(model_spec=model, wall_time_ns=1_000_000),
        row(model_spec=model, wall_time_ns=int(1_000_000 * slower), dp=4, sp=16),
    )


@pytest.mark.parametrize(
    ("model", "said"), [(None, []), (STAGE, []), (REALISTIC, [UNKNOWN]), (REPAIRED, [UNKNOWN])]
)
def test_only_models_that_are_not_the_reference_are_not_calibrated(
    model: str | None, said: list[str]
) -> None:
    best, second = two(model)
    assert subject.certainty(best, [second]) == said
    assert subject.certainty(best, [None]) == []
    assert (UNKNOWN in render(select([best, second]))) == bool(said)


def test_a_model_with_a_known_error_names_what_is_tied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "RELATIVE_ERROR", {"realistic": 0.03})
    best, second = two(REALISTIC)
    assert subject.certainty(best, [second]) == [
        "tied with the best within the model's error of 3 %: dp4 tp1 sp16 pp1 recompute"
    ]
    best, second = two(REALISTIC, slower=1.04)
    assert subject.certainty(best, [second]) == []


def test_every_way_of_counting_is_named_once_and_none_where_there_is_no_figure() -> None:
    counted = [row(model_spec=model, mfu_pct=40.0) for model in (STAGE, STAGE, REALISTIC)]
    assert subject.mfu_conventions([*counted, None, row(model_spec=REALISTIC)]) == [
        "MFU: operations of the reference's graph, one per multiply-add (published MFU: two); recompute does "
        "not count",
        "MFU: a multiply-add is two FLOPs; recompute does not count (6 N D and the attention scores)",
    ]
    assert subject.mfu_conventions([row(model_spec=STAGE), row(mfu_pct=1.0)]) == []
