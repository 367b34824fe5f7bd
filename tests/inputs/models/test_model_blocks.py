"""Experts, latent attention and what else not every model has: what is refused, what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.inputs.models import LatentAttention, MixtureOfExperts, ModelSpec
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.points.inputs import model_json, model_of_json
from dse.testing.builders import RING16

TINY = ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4)
LATENT = LatentAttention(512, None, 128, 64, 128)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"count": 1}, "model.experts.count is 1; it must be an integer from 2 to 9223372036854775807"),
        ({"top_k": 0}, "model.experts.top_k is 0; it must be an integer from 1 to 9223372036854775807"),
        ({"top_k": 9}, "model.experts.top_k is 9; it must be at most model.experts.count, 8"),
        ({"shared": -1}, "model.experts.shared is -1; it must be an integer from 0 to 9223372036854775807"),
        (
            {"shared_d_ff": 64},
            "model.experts.shared_d_ff is 64, but model.experts.shared is 0; write model.experts.shared=1 "
            "too",
        ),
        (
            {"capacity_factor": 0.0},
            "model.experts.capacity_factor is 0.0; it must be a number above 0, or null, which drops no "
            "token",
        ),
        (
            {"imbalance": 0.5},
            "model.experts.imbalance is 0.5; it must be a number from 1: the tokens of the busiest NPU over "
            "the mean",
        ),
        (
            {"imbalance": float("nan")},
            "model.experts.imbalance is nan; it must be a number from 1: the tokens of the busiest NPU over "
            "the mean",
        ),
    ],
)
def test_experts_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"count": 8, "top_k": 2, "d_ff": 64, **changes}
    with pytest.raises(InputError) as caught:
        MixtureOfExperts(**values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"experts": MixtureOfExperts(8, 2, 64, dense_layers=4)},
            "model.experts.dense_layers is 4; it must be below model.num_layers, 4: otherwise no layer has "
            "experts",
        ),
        ({"head_dim": 0}, "model.head_dim is 0; it must be an integer from 1 to 9223372036854775807"),
        ({"prediction_layers": 5}, "model.prediction_layers is 5; it must be an integer from 0 to 4"),
        ({"learned_positions": -1}, "model.learned_positions is -1; it must be an integer from 0 to"),
        ({"biases": 1}, "model.biases is 1; it must be true or false"),
        (
            {"tied_embeddings": True, "output_dim": 8},
            "model.tied_embeddings is true, but model.input_dim is 4096 and model.output_dim 8; embeddings "
            "of different widths cannot be tied",
        ),
        (
            {"biases": True, "qkv_biases": True},
            "model.qkv_biases is true, but model.biases, too, which means all; write only one",
        ),
        (
            {"latent_attention": LATENT, "head_dim": 64},
            "model.head_dim is 64, which has no effect with model.latent_attention; leave it out",
        ),
        (
            {"latent_attention": LATENT, "num_kv_heads": 4},
            "model.num_kv_heads is 4, which has no effect with model.latent_attention; leave it out",
        ),
        (
            {"latent_attention": LATENT, "query_key_norms": True},
            "model.query_key_norms is true, which has no effect with model.latent_attention; leave it out",
        ),
    ],
)
def test_fields_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(TINY, **changes)
    assert str(caught.value).startswith(message)


def test_a_rank_of_latent_attention_is_a_count() -> None:
    with pytest.raises(InputError, match=r"^model\.latent_attention\.query_rank is 0; it must be an integer"):
        LatentAttention(512, 0, 128, 64, 128)


OVERRIDES = [
    (["model.experts={count:8,top_k:2,d_ff:64}"], MixtureOfExperts(8, 2, 64)),
    (
        ["model.experts.count=8", "model.experts.top_k=2", "model.experts.d_ff=64", "model.experts.shared=1"],
        MixtureOfExperts(8, 2, 64, shared=1),
    ),
]


@pytest.mark.parametrize(("overrides", "expected"), OVERRIDES)
def test_experts_are_set_as_a_group_or_key_by_key(overrides: list[str], expected: MixtureOfExperts) -> None:
    assert compose_config(["model=tiny", *overrides]).model.experts == expected


def test_latent_attention_may_leave_queries_at_full_rank() -> None:
    group = "model.latent_attention={key_value_rank:512,nope_dim:128,rope_dim:64,value_dim:128}"
    assert compose_config(["model=tiny", group]).model.latent_attention == LATENT


def test_a_group_without_a_required_key_is_refused() -> None:
    with pytest.raises(InputError, match=r"^model\.experts\.top_k has no value; it must be an integer$"):
        compose_config(["model=tiny", "model.experts.count=8"])


def test_what_a_model_does_not_have_is_not_stored() -> None:
    """Keys of points are made of this text: it is what it was before these fields were there."""
    assert model_json(TINY) == (
        '{"batch_size":32,"d_ff":4096,"d_model":1024,"fidelity":"stage","gated_mlp":false,"input_dim":4096,'
        '"micro_batches":null,"name":"tiny","num_heads":16,"num_kv_heads":null,"num_layers":4,'
        '"output_dim":4096,"repairs":{"block_shapes":null,"bytes_per_element":null,"consistent_sharding":null,'
        '"contiguous_stages":null,"embedding_lookup":null,"just_in_time_gathers":null,"loss":null,'
        '"multiply_add_as_two":null,"no_input_gradient":null,"nonlinear_operators":null,'
        '"optimizer_state":null,"output_projection":null,"recompute":null,"shared_gathers":null},'
        '"seq_len":512}'
    )


def test_a_stored_model_is_rebuilt_with_its_groups() -> None:
    model = replace(
        TINY,
        experts=MixtureOfExperts(8, 2, 64, shared=2, capacity_factor=1.0, imbalance=2.0),
        latent_attention=LATENT,
        biases=True,
        learned_positions=512,
        prediction_layers=1,
    )
    text = model_json(model)
    assert model_of_json(text) == model
    assert (
        '"experts":{"capacity_factor":1.0,"count":8,"d_ff":64,"imbalance":2.0,"shared":2,"top_k":2}' in text
    )
    assert '"tied_embeddings"' not in text
    deepseek = compose_config(["model=deepseek_v3"]).model
    assert model_of_json(model_json(deepseek)) == deepseek


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"experts": MixtureOfExperts(8, 2, 64)}, "model.experts"),
        ({"head_dim": 128}, "model.head_dim"),
        (
            {"latent_attention": LATENT, "prediction_layers": 1},
            "model.latent_attention and model.prediction_layers",
        ),
    ],
)
@pytest.mark.parametrize("fidelity", ["stage", "realistic"])
def test_a_trace_that_would_show_another_model_is_refused(
    changes: dict[str, Any], named: str, fidelity: str
) -> None:
    model = replace(TINY, fidelity=fidelity, **changes)
    message = (
        f"model tiny has {named}, which no execution trace can show; only predictions can: "
        "model.fidelity=realistic on a cluster of accelerators, such as system=dgx_h100"
    )
    with pytest.raises(InputError) as caught:
        generate(model, Strategy(dp=16))
    assert str(caught.value) == message
    with pytest.raises(InputError, match="which no execution trace can show"):
        evaluate(DesignPoint(Scenario("s", model, RING16), Strategy(dp=16)))


def test_a_head_of_the_usual_width_changes_no_trace() -> None:
    usual, named = (generate(model, Strategy(dp=2)) for model in (TINY, replace(TINY, head_dim=64)))
    assert usual.trace_bytes(0) == named.trace_bytes(0)
