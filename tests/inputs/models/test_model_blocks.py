"""Experts, latent attention and what else not every model has: what is refused, what is stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dse.base.errors import InputError
from dse.inputs.models import (
    AttentionWindows,
    LatentAttention,
    LowRankAdapters,
    MixtureOfExperts,
    ModelSpec,
    SparseAttention,
    StateSpace,
)
from dse.inputs.strategies import Strategy
from dse.simulation.workloads import generate
from dse.studies.config import compose_config
from dse.studies.points import DesignPoint, Scenario, evaluate
from dse.studies.points.inputs import model_json, model_of_json
from dse.testing.builders import RING16

TINY = ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4)
LATENT = LatentAttention(512, None, 128, 64, 128)
STATES = StateSpace(16, 64, 128, 8)


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
        ({"every": 0}, "model.experts.every is 0; it must be an integer from 1 to 9223372036854775807"),
        (
            {"groups": 4},
            "model.experts.groups is 4, but model.experts.top_groups has no value; write both or none",
        ),
        (
            {"groups": 3, "top_groups": 1},
            "model.experts.groups is 3; it must divide model.experts.count, 8",
        ),
        (
            {"groups": 8, "top_groups": 1},
            "model.experts.top_groups is 1; it must be at most the 8 groups, and their experts at least "
            "model.experts.top_k, 2",
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
        (
            {"experts": MixtureOfExperts(8, 2, 64, every=5)},
            "model.experts.every is 5; it must be at most model.num_layers, 4: otherwise no layer has "
            "experts",
        ),
        (
            {"rms_norm": True},
            "model.rms_norm is true, but model.biases is false: norms have no biases anyway; leave it out",
        ),
        (
            {"state_space": STATES},
            "model.state_space has no effect without model.layer_pattern; write which layers have it, as in "
            "M-M*M-",
        ),
        (
            {"layer_pattern": "M-*", "state_space": STATES},
            "model.layer_pattern is 'M-*'; it must have one of the letters M * - E for each of the 4 layers",
        ),
        ({"layer_pattern": "M-*-"}, "model.layer_pattern has a layer M; write model.state_space too"),
        (
            {"layer_pattern": "-*-*", "experts": MixtureOfExperts(8, 2, 64)},
            "model.layer_pattern has no layer E; leave out model.experts",
        ),
        (
            {"layer_pattern": "-*-*", "windows": AttentionWindows(128)},
            "model.windows has no effect with model.layer_pattern; leave it out",
        ),
        (
            {"sparse_attention": SparseAttention(64, 128, 2048), "latent_attention": LATENT},
            "model.sparse_attention needs model.latent_attention.query_rank: its queries are made from the "
            "low-rank query",
        ),
    ],
)
def test_fields_that_contradict_each_other_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        replace(TINY, **changes)
    assert str(caught.value).startswith(message)


def test_a_realistic_model_has_heads_of_a_whole_width() -> None:
    """STAGE cuts such heads to whole numbers; a prediction would be one of another model."""
    asked = ["model=tiny", "system=dgx16", "model.num_heads=24", "model.num_kv_heads=24"]
    assert compose_config(asked).model.key_width == 42
    with pytest.raises(InputError) as caught:
        compose_config([*asked, "model.fidelity=realistic"])
    assert str(caught.value) == (
        "model.d_model is 1024, which model.num_heads, 24, does not divide; change one, or write "
        "model.head_dim, the width of a head"
    )
    assert compose_config([*asked, "model.fidelity=realistic", "model.head_dim=64"]).model.key_width == 64


def test_a_rank_of_latent_attention_is_a_count() -> None:
    with pytest.raises(InputError, match=r"^model\.latent_attention\.query_rank is 0; it must be an integer"):
        LatentAttention(512, 0, 128, 64, 128)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AttentionWindows(0), "model.windows.size is 0; it must be an integer from 1 to"),
        (lambda: AttentionWindows(128, 1), "model.windows.full_every is 1; it must be an integer from 2 to"),
        (
            lambda: StateSpace(16, 64, 128, 3),
            "model.state_space.groups is 3; it must divide model.state_space.heads, 16",
        ),
        (
            lambda: SparseAttention(64, 128, 0),
            "model.sparse_attention.top_k is 0; it must be an integer",
        ),
        (
            lambda: LowRankAdapters(16, "qkv+ouput"),
            "model.lora.targets is 'qkv+ouput'; it must be some of qkv, output, feed_forward, joined by +; "
            "did you mean 'output'?",
        ),
    ],
)
def test_parts_of_models_that_cannot_be_are_refused(build: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build()
    assert str(caught.value).startswith(message)


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
    for name in ("deepseek_v3", "deepseek_v3_2", "gpt_oss_20b", "nemotron_3_nano"):
        composed = compose_config([f"model={name}", "model.lora.rank=16"]).model
        assert model_of_json(model_json(composed)) == composed


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"experts": MixtureOfExperts(8, 2, 64)}, "model.experts"),
        ({"head_dim": 128}, "model.head_dim"),
        (
            {"latent_attention": LATENT, "prediction_layers": 1},
            "model.latent_attention and model.prediction_layers",
        ),
        (
            {"windows": AttentionWindows(128), "lora": LowRankAdapters(16)},
            "model.windows and model.lora",
        ),
        ({"layer_pattern": "M-*-", "state_space": STATES}, "model.layer_pattern"),
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
