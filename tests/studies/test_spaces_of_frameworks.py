"""Plans that a sweep tries on a cluster are of a framework that runs there, and those that it can run."""

from __future__ import annotations

import pytest

from dse.inputs.strategies import Strategy
from dse.prediction.frameworks.dialect import FRAMEWORKS, dialect_named
from dse.studies.composed import model_of, system_of, training_strategies
from dse.studies.config import compose_config


def tried(*overrides: str) -> list[Strategy]:
    """The strategies of a sweep over a cluster."""
    config = compose_config(overrides, command="sweep")
    return list(config.space.strategies(config.model, config.system))


@pytest.mark.parametrize(
    ("system", "framework"),
    [
        ("tpu_v4_slice", "maxtext"),
        ("tpu_v5e_pod", "maxtext"),
        ("tpu_v5p_slice", "maxtext"),
        ("tpu_v6e_pod", "maxtext"),
        ("tpu7x_slice", "maxtext"),
        ("dgx_h100", "megatron-bridge"),
        ("mi300x_platform", "megatron-core"),
        ("mi355x_platform", "megatron-core"),
    ],
)
def test_plans_are_of_the_framework_of_the_accelerator(system: str, framework: str) -> None:
    words = (f"system={system}", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")
    assert {one.framework for one in tried(*words)} == {framework}
    found = training_strategies(model_of(words), system_of(words))
    assert {one.framework for one in found} == {framework}


MIXTURES = ("megatron-lm", "megatron-bridge", "maxtext")


@pytest.mark.parametrize(
    ("framework", "model"),
    [*[(name, "llama3_8b") for name in FRAMEWORKS.listed()], *[(name, "mixtral_8x7b") for name in MIXTURES]],
)
def test_plans_that_a_framework_can_run_are_predicted_as_it_runs_them(framework: str, model: str) -> None:
    own = dialect_named(framework).constants[0]
    words = ("system=dgx_h100", "system.nodes=2", f"model={model}", "model.batch_size=64")
    assert {one.framework for one in tried(*words, f"space.launchable={framework}")} == {own}
    found = training_strategies(model_of(words), system_of(words), framework)
    assert {one.framework for one in found} == {own}


@pytest.mark.parametrize("model", ["llama3_8b", "mixtral_8x7b"])
def test_maxtext_can_run_nearly_all_that_is_tried_on_a_tpu(model: str) -> None:
    """It shards whole nodes of experts only: a few plans of a mixture are left out."""
    words = ("system=tpu_v5p_slice", "system.nodes=2", f"model={model}", "model.batch_size=64")
    all_of_it, launchable = tried(*words), tried(*words, "space.launchable=maxtext")
    assert {one.recompute for one in launchable} == {"selective", "full"}
    assert len(launchable) >= 0.9 * len(all_of_it) > 0


def test_a_framework_that_the_user_names_stays() -> None:
    words = ("system=tpu_v5p_slice", "system.nodes=2", "model=llama3_8b", "model.batch_size=64")
    assert {one.framework for one in tried(*words, "space.framework=[megatron-core]")} == {"megatron-core"}
