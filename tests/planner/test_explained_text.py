"""The texts of explanations: numbers of things, layers in short, what is cut, and nothing that is empty."""

from __future__ import annotations

from typing import Any

import pytest

from dse.base.texts import counted
from dse.planner.files.output import layers_text, types_text
from dse.planner.questions.bottleneck import batches_text
from dse.planner.questions.explanation_text import explained_text


def stage(number: int, layers: list[int], sets_the_pace: bool) -> dict[str, Any]:
    return {
        "stage": number,
        "types": {"A100": 4, "V100": 2},
        "layers": layers,
        "period_ms": 10.0,
        "idle_share": 0.0,
        "sets_the_pace": sets_the_pace,
        "gradients_ms": 2.5,
        "ends_the_step": False,
        "memory_share": {"A100": 0.5},
    }


def explanation(stages: list[dict[str, Any]], moves: int = 0, effect_ms: float = 0.0) -> dict[str, Any]:
    return {
        "best": "4 as 4x1",
        "cost_ms": 100.0,
        "defects": [],
        "reasons": [],
        "stages": stages,
        "moves": [{"from": 0, "to": 1, "ms": 3.0, "refused": None}] * moves,
        "others": [],
        "simulation": {
            "refused": None,
            "step_ms": 100.0 + effect_ms,
            "short_of_memory": "",
            "effects": [{"name": "rings", "ms": effect_ms, "meaning": "in steps"}] if effect_ms else [],
        },
    }


DATA = {"cost_model": "strict", "optimal": False, "gap": 0.0123, "bound_ms": 98.7}


def test_a_proof_is_said_as_a_proof() -> None:
    found = explanation([stage(0, [0, 4], True)])
    first, *_ = explained_text(DATA, found).splitlines()
    gap = "no plan of this space is below 98.7 ms, so it is at most 1.23 % above the optimum"
    assert first == f"4 as 4x1: 100 ms per step under strict; {gap}"
    first, *_ = explained_text({**DATA, "optimal": True, "gap": 0.0}, found).splitlines()
    assert first == "4 as 4x1: 100 ms per step under strict; proven optimal within this space"


def test_layers_of_stages_are_in_short() -> None:
    stages = [stage(0, [0, 5], True), stage(1, [5, 6], False), stage(2, [6, 6], False)]
    rows = [line for line in explained_text(DATA, explanation(stages)).splitlines() if "4 A100" in line]
    assert [row.split()[6] for row in rows] == ["0-4", "5", "none"]
    assert [layers_text(own["layers"]) for own in stages] == ["0-4", "5", "none"]
    assert types_text({"A100": 4, "V\x1b": 2}) == "4 A100 + 2 V\\x1b"


@pytest.mark.parametrize(
    ("moves", "shown", "more"), [(6, 6, []), (14, 6, ["- and 8 more; format=json has all"])]
)
def test_moves_that_are_not_shown_are_counted(moves: int, shown: int, more: list[str]) -> None:
    lines = explained_text(DATA, explanation([stage(0, [0, 9], True)], moves)).splitlines()
    assert sum(line == "- from stage 0 to stage 1: +3 ms per step" for line in lines) == shown
    assert [line for line in lines if line.startswith("- and")] == more


def test_a_simulation_without_effects_promises_none() -> None:
    one = [stage(0, [0, 4], True)]
    assert explained_text(DATA, explanation(one)).endswith("\nsimulated: 100 ms, +0 ms")
    with_one = explained_text(DATA, explanation(one, effect_ms=2.0))
    assert with_one.endswith("\nsimulated: 102 ms, +2 ms; of it\n- +2 ms rings: in steps")


def test_one_thing_is_no_plural() -> None:
    assert [counted(number, "stage") for number in (0, 1, 2)] == ["0 stages", "1 stage", "2 stages"]
    assert [batches_text(number) for number in (1, 16)] == ["1 micro-batch", "16 micro-batches"]
