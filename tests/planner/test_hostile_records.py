"""Files of plans with records that the engine reads: what no program wrote is refused, and never followed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.planner.files.files import read_plan
from dse.planner.problem.steps import way_of
from dse.planner.proofs.check import check_plan
from tests.command_lines import run_ok

MODEL = ("problem", "steps", "model")
CLUSTER = ("problem", "steps", "types", 0, "cluster")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The file of a plan whose steps are predicted."""
    folder = tmp_path_factory.mktemp("plan")
    words = ("cluster=dgx_h100", "model=llama3_8b", "gbs=64", "uniform=true", "-o", "plan.json")
    run_ok("plan", *words, cwd=folder)
    found: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    return found


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ((*MODEL, "kinds"), [], "kinds must be a list of at least one"),
        ((*MODEL, "kinds"), 7, "kinds must be a list"),
        ((*MODEL, "kinds", 0, "matrices"), [], "matrices must be a list of at least one"),
        ((*MODEL, "kinds", 0, "matrices", 0, "shape"), -1, "shape must be a number from 0 to 4095"),
        ((*MODEL, "kinds", 0, "matrices", 0, "shape"), 2**62, "shape must be a number from 0 to 4095"),
        ((*MODEL, "kinds", 0, "matrices", 0, "part"), 8, "part must be a number from 0 to 7"),
        ((*MODEL, "kinds", 0, "mixer"), 4, "mixer must be a number from 0 to 3"),
        ((*MODEL, "runs", 0, "kind"), 1, "kind must be a number from 0 to 0"),
        ((*MODEL, "d_model"), "x", "d_model must be a whole number"),
        ((*MODEL, "gated_mlp"), 1, "gated_mlp must be true or false"),
        ((*CLUSTER, "tiers"), [], "tiers must be a list of at least one"),
        ((*CLUSTER, "nics", "tier"), -1, "tier must be a number from 0 to 2"),
    ],
)
def test_a_record_that_leads_nowhere_is_refused(
    plan: dict[str, Any], tmp_path: Path, place: tuple[Any, ...], value: Any, said: str
) -> None:
    changed = copy.deepcopy(plan)
    *outer, last = place
    inside: Any = changed
    for key in outer:
        inside = inside[key]
    inside[last] = value
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(changed))
    verdict = check_plan(read_plan(path))
    assert verdict.lines[0].startswith(f"prediction record: {said}")


def test_a_long_way_is_cut_in_the_message() -> None:
    with pytest.raises(InputError) as error:
        way_of("tp=2 overlap_tp=" + "{" * 3000)
    assert str(error.value).startswith("way 'tp=2 overlap_tp={{{")
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("between_gbps", [], "steps.between_gbps: has 0 numbers; 1 pairs of types need 1"),
        ("between_gbps", [-1.0], "steps.between_gbps[0]"),
        ("is_uniform", "false", "'false' is neither true nor false"),
    ],
)
def test_inputs_of_steps_that_cannot_be_are_refused(
    plan: dict[str, Any], tmp_path: Path, key: str, value: Any, said: str
) -> None:
    changed = copy.deepcopy(plan)
    changed["problem"]["steps"][key] = value
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(changed))
    assert said in check_plan(read_plan(path)).lines[0]
