"""The space of training plans: what it has, what it leaves out, and when it is chosen by itself."""

from __future__ import annotations

import pytest
from predicted_points import SMALL, TWO_NODES

from dse.base.errors import InputError
from dse.inputs.strategies import Strategy
from dse.studies.config import Config, compose_config
from dse.studies.points import DesignPoint, scenario_of


def composed(*overrides: str) -> Config:
    return compose_config([*TWO_NODES, *SMALL, *overrides], command="sweep")


def strategies(*overrides: str) -> tuple[Strategy, ...]:
    config = composed(*overrides)
    return config.space.strategies(config.model, config.system)


def test_it_is_chosen_where_points_are_predicted_and_no_space_is_named() -> None:
    assert composed().space.name == "training"
    assert composed("space.micro_batch=[2]").space.choices["micro_batch"] == (2,)
    assert composed("space=full").space.name == "full"
    assert composed("model.fidelity=stage").space.name == "lab"
    assert compose_config(["system=torus_4x4"], command="sweep").space.name == "lab"
    assert composed("model.experts={count:8,top_k:2,d_ff:14336}").space.name == "training_moe"


def test_plans_run_in_fp16_where_there_is_no_bf16() -> None:
    volta = compose_config(["system=dgx_v100", *SMALL], command="sweep")
    assert (volta.space.name, volta.space.choices["precision"]) == ("training", ("fp16",))
    chosen = compose_config(["system=dgx_v100", *SMALL, "space.precision=[bf16,fp16]"], command="sweep")
    assert chosen.space.choices["precision"] == ("bf16", "fp16")
    assert composed().space.choices["precision"] == ("bf16",)


def test_its_plans_fill_the_cluster_and_none_is_there_twice() -> None:
    found = strategies()
    assert {plan.npus for plan in found} == {16}
    assert len(set(found)) == len(found) == 214
    on = scenario_of(composed())
    assert all(DesignPoint(on, plan).is_feasible for plan in found)


def test_it_leaves_out_what_no_one_would_run() -> None:
    found = strategies()
    assert max(plan.tp for plan in found) == 8  # a node
    assert {plan.sp for plan in found} == {1}
    assert {plan.cp for plan in found} == {1}  # a sequence of 4096
    assert {plan.cp for plan in strategies("model.seq_len=16384")} == {1, 2, 4}
    assert all(plan.sequence_parallel == (plan.tp > 1) for plan in found)
    assert all(plan.pp == 1 for plan in found if plan.weight_sharded)
    assert {plan.chunks for plan in found if plan.schedule == "interleaved"} == {2, 4}


@pytest.mark.parametrize("space", ["training", "training_moe"])
def test_stages_that_are_asked_for_are_all_tried(space: str) -> None:
    """Between `even` and `spread` the number of layers decides; any other way is a choice."""
    model = () if space == "training" else ("model.experts={count:8,top_k:2,d_ff:14336}",)
    asked = ["space.pp=[4]", "space.chunks=[1]", "space.stages=[even,spread,balanced,lighter-ends,7-9-9-7]"]
    found = strategies(*model, f"space={space}", "model.num_layers=32", *asked)
    assert {plan.stages for plan in found} == {"even", "balanced", "lighter-ends", "7-9-9-7"}


def test_the_limit_of_tensor_parallelism_is_a_constraint_that_can_be_replaced() -> None:
    wide = strategies("space.constraints=[]", "space.tp=[16]", "space.micro_batch=[1]")
    assert {(plan.tp, plan.dp) for plan in wide} == {(16, 1)}


def test_expert_parallelism_divides_experts_and_ranks() -> None:
    found = strategies("model.experts={count:8,top_k:2,d_ff:14336}", "space.micro_batch=[1]")
    assert {plan.ep for plan in found} == {1, 2, 4, 8}
    assert all(plan.tp * plan.dp * plan.cp % plan.ep == 0 for plan in found)
    assert {plan.dispatcher for plan in found if plan.ep > 1} == {"deduplicated"}
    assert {plan.schedule for plan in found if plan.overlap_ep and plan.pp > 1} == {"interleaved"}
    on = scenario_of(composed("model.experts={count:8,top_k:2,d_ff:14336}"))
    assert all(DesignPoint(on, plan).is_feasible for plan in found)


def test_constraints_over_degrees_come_first_and_all_removed_combinations_are_counted() -> None:
    config = composed("space.constraints=[\"schedule == '1f1b'\",'tp <= 4']")
    survey = config.space.survey([config.model], [config.system])
    removed = dict(survey.removed)
    assert survey.points + sum(removed.values()) == survey.combinations
    assert (
        removed["tp <= 4"] == survey.combinations * 4 // 35
    )  # 35 ways to split 2^4 in 4, 4 of them with tp > 4
    assert removed["schedule == '1f1b'"] == (survey.combinations - removed["tp <= 4"]) // 2


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("space.schedule=[1f1b,1f2b]", "space.schedule lists '1f2b'; its values must be one of 1f1b, gpipe"),
        ("space.zero=[3]", "space.zero lists 3; its values must be integers from 0 to 2"),
        ("space.micro_batch=[two]", "space.micro_batch"),
        ("space.axes={strategy.precision:[fp9]}", "space.axes.strategy.precision lists 'fp9'"),
        (
            "space.constraints=[\"schedule == 'gp'\"]",
            "schedule is compared with 'gp'; it is one of 1f1b, gpipe",
        ),
    ],
)
def test_wrong_values_are_named(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        composed(override)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_zero_by_which_a_constraint_divides_is_named_with_its_axis() -> None:
    with pytest.raises(InputError) as caught:
        strategies("space.micro_batch=[0,1]")
    assert str(caught.value) == (
        "space.micro_batch has the value 0, with which space.constraints.4 "
        "'batch_size % (dp * micro_batch) == 0' cannot be evaluated; list values from 1, such as "
        "space.micro_batch=[1,2]"
    )


def test_axes_over_younger_fields_of_strategies_replace_their_lists() -> None:
    found = strategies("space.axes={strategy.precision:[bf16,fp8]}", "space.micro_batch=[1]")
    assert {plan.precision for plan in found} == {"bf16", "fp8"}
