"""The engine predicts steps as the plain evaluation in Python does."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from dse.base.errors import InputError
from dse.inputs.accelerators.algorithms import GroupAlgorithms
from dse.inputs.strategies import InfeasibleStrategy
from dse.prediction.measured.cases import case_of
from dse.prediction.measured.rows import published_rows
from dse.prediction.steps.batch import Case, predict_columns
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.predict import Prediction, predict, predictions, require_feasible
from dse.studies.config.compose import compose_config
from tests.prediction.steps.random_plans import random_cases
from tests.references.prediction.balance import balanced
from tests.references.prediction.checks import check
from tests.references.prediction.stepwise import Stepwise

_SHARE = 1e-12
_NIGHTLY = 200_000


def _plain(case: Case) -> Prediction | str:
    try:
        check(*case)
        return Stepwise(case.model, balanced(*case), case.cluster).prediction()
    except InfeasibleStrategy as error:
        return str(error)


def _compare(cases: Sequence[Case]) -> int:
    """Compare both, and return how many plans can run."""
    feasible = 0
    for case, found in zip(cases, predictions(cases, threads=2), strict=True):
        plain = _plain(case)
        if isinstance(plain, str) or isinstance(found, str):
            assert found == plain, case
            continue
        feasible += 1
        assert found.parts_s == pytest.approx(plain.parts_s, rel=0, abs=_SHARE * plain.step_s), case
        rounding = _SHARE * plain.peak_memory_bytes + 1
        assert found.memory_bytes == pytest.approx(plain.memory_bytes, rel=0, abs=rounding), case
        assert found.bubble_share == pytest.approx(plain.bubble_share, rel=_SHARE, abs=_SHARE), case
        assert found.model_flops == plain.model_flops
    return feasible


def test_engine_equals_python_on_every_measured_row() -> None:
    cases = []
    for row in published_rows():
        try:
            found = case_of(row)
        except InputError:
            continue
        cases.append(Case(found.model, found.plan, found.cluster))
    assert _compare(cases) > 1_100


@pytest.mark.parametrize("seed", range(2))
def test_engine_equals_python_on_random_plans(seed: int) -> None:
    count = _NIGHTLY // 2 if os.environ.get("DSE_NIGHTLY") else 2_000
    assert _compare(list(random_cases(seed, count))) > count / 12


def test_a_plan_of_a_batch_is_predicted_to_the_bit_as_alone() -> None:
    """Plans of a batch share layouts, links and pipelines; these differ in axes that some of them ignore."""
    names = [("llama3_8b", "dgx_h100"), ("mixtral_8x7b", "dgx_h100"), ("llama3_8b", "dgx_a100")]
    configs = [compose_config([f"model={model}", f"system={on}", "system.nodes=2"]) for model, on in names]
    cases = []
    for config, degrees, schedule, micro_batch, zero, recompute, overlap_dp in itertools.product(
        configs,
        [(4, 2, 2), (2, 2, 4), (1, 4, 4)],
        [("1f1b", 1), ("interleaved", 2), ("zb-h1", 1), ("zb-v", 2), ("v-min", 2)],
        (1, 2),
        (0, 1, 2),
        ("none", "full"),
        (False, True),
    ):
        assert config.system.cluster is not None
        (dp, tp, pp), (name, chunks) = degrees, schedule
        for stages, order in [("even", "tp-cp-ep-dp-pp"), ("balanced", "pp-tp-dp-cp-ep")]:
            plan = Plan(
                dp=dp, tp=tp, pp=pp, schedule=name, chunks=chunks, micro_batch=micro_batch, order=order
            )
            plan = replace(plan, zero=zero, recompute=recompute, overlap_dp=overlap_dp, stages=stages)
            cases.append(Case(config.model, plan, config.system.cluster))
    together = predict_columns(cases)
    assert (together.reason_of < 0).mean() > 0.9
    for place, case in enumerate(cases):
        alone = predict_columns([case])
        assert together.reason(place) == alone.reason(0)
        assert np.array_equal(together.parts_s[place], alone.parts_s[0]), case
        assert np.array_equal(together.memory_bytes[place], alone.memory_bytes[0]), case
        assert together.bubble_share[place] == alone.bubble_share[0], case


def test_engine_equals_python_where_collectives_are_synthesized() -> None:
    config = compose_config(["system=dgx_h100", "system.nodes=2", "model=llama3_8b"])
    assert config.system.cluster is not None
    algorithms = GroupAlgorithms("synthesized", "synthesized")
    cluster = replace(config.system.cluster, algorithms=algorithms)
    cases = [Case(config.model, Plan(tp=tp, dp=16 // tp), cluster) for tp in (1, 2, 4, 8, 16)]
    assert _compare(cases) >= 4


def test_only_feasible_has_the_reasons_and_no_figures() -> None:
    cases = list(random_cases(11, 300))
    columns = predict_columns(cases, only_feasible=True)
    whole = predict_columns(cases)
    assert [columns.reason(place) for place in range(300)] == [whole.reason(place) for place in range(300)]
    assert not columns.parts_s.any()


def test_a_value_that_no_axis_has_is_a_reason_before_the_engine_sees_it() -> None:
    config = compose_config(["system=dgx_h100", "system.nodes=1", "model=llama3_8b"])
    cluster = config.system.cluster
    assert cluster is not None
    for plan, reason in (
        (Plan(dp=8, precision="int3"), "precision is int3; allowed are"),
        (Plan(dp=8, order="tp-dp"), "order is 'tp-dp'; it must have each of"),
        (Plan(dp=8, zero=-1), "zero is -1; it must be at least 0"),
    ):
        for ask in (predict, require_feasible):
            with pytest.raises(InfeasibleStrategy, match=reason):
                ask(config.model, plan, cluster)


def test_a_batch_answers_as_its_cases_do_one_by_one() -> None:
    cases = list(random_cases(5, 200))
    alone = [next(predictions([case])) for case in cases]
    assert list(predictions(cases)) == alone
