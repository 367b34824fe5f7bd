"""The model of a measured row; what the row does not say is assumed, and told."""

from __future__ import annotations

import functools
from dataclasses import replace

from dse.base.errors import InputError
from dse.inputs.models import LatentAttention, LowRankAdapters, MixtureOfExperts, ModelSpec
from dse.inputs.models.settings import models_of_conf
from dse.prediction.measured.row_schedules import Inexpressible
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.plan import Plan


def model_of(row: MeasuredRow, plan: Plan, assumed: list[str]) -> ModelSpec:
    """Return the model that a row ran.

    Raises:
        Inexpressible: there is no such model.
    """
    gated = bool(row.gated)
    known = _models_by_shape().get((row.layers, row.hidden, row.heads, row.experts or 0, gated))
    vocab, is_tied = row.vocab, row.tied_embeddings
    if is_tied is None:
        is_tied = not gated if known is None else known.tied_embeddings
    if vocab is None:
        vocab = 51200 if known is None else known.output_dim
        assumed.append(f"vocab {vocab}")
    d_ff = row.ffn or 4 * row.hidden
    if not row.ffn:
        assumed.append(f"a feed-forward width of {d_ff}, 4 x hidden")
    has_dropout = not gated and plan.framework != "llm-foundry"
    like = ("" if gated else "not ") + "gated" + ("" if row.gated is not None else " (unknown)")
    embeddings = "" if row.tied_embeddings is not None else f"{'tied' if is_tied else 'untied'} embeddings, "
    assumed.append(
        f"{embeddings}{'no ' if gated else ''}biases and "
        f"{'' if has_dropout else 'no '}dropout, as the feed-forward block is {like}"
    )
    if known is not None:
        assumed.append(f"attention, norms and routing as in the model {known.name}, which has this shape")
    try:
        spec = ModelSpec(
            name=row.model or row.id,
            input_dim=vocab,
            output_dim=vocab,
            d_model=row.hidden,
            d_ff=d_ff,
            num_heads=row.heads,
            seq_len=row.seq,
            batch_size=_batch(row, plan, assumed),
            num_layers=row.layers,
            num_kv_heads=None if row.mla else row.kv_heads,
            gated_mlp=gated,
            fidelity="realistic",
            head_dim=None if row.mla else row.head_dim,
            experts=_experts(row, assumed),
            latent_attention=_latent(row, assumed),
            tied_embeddings=is_tied,  # as GPT-2 and its descendants where nothing says it
            biases=not gated,
            dropout=has_dropout,
            prediction_layers=row.mtp_layers or 0,
        )
        return _tuned(spec if known is None else _completed(spec, known), row, assumed)
    except InputError as error:
        raise Inexpressible(f"no such model: {error}") from None


def _tuned(spec: ModelSpec, row: MeasuredRow, assumed: list[str]) -> ModelSpec:
    """A model as the task of a row trains it: whole, or adapters of it."""
    if row.task == "sft":
        assumed.append("fine-tuning on sequences without padding, as in pretraining")
    if row.task != "lora":
        return spec
    assumed.append("adapters of rank 16 on queries, keys and values, as in the recipes of Megatron Bridge")
    return replace(spec, lora=LowRankAdapters(16, "qkv"))


_WITHOUT_COLUMN = (
    *("windows", "attention_sinks", "sparse_attention", "state_space", "layer_pattern", "rms_norm"),
    "post_norms",
    *("biases", "qkv_biases", "query_key_norms", "latent_attention"),
)
"""Fields of a model that no column of a row states."""


@functools.cache
def _models_by_shape() -> dict[tuple[int, int, int, int, bool], ModelSpec]:
    """The models of conf/model by layers, width, heads, experts and gate: they tell what rows do not."""
    found: dict[tuple[int, int, int, int, bool], ModelSpec] = {}
    for _, model in models_of_conf():
        if model.fidelity == "realistic":  # the first of a shape: DeepSeek-V3 before V3.2
            experts = model.experts.count if model.experts else 0
            shape = (model.num_layers, model.d_model, model.num_heads, experts, model.gated_mlp)
            found.setdefault(shape, model)
    return found


def _completed(spec: ModelSpec, known: ModelSpec) -> ModelSpec:
    """A model of a row with what only the known model of its shape tells."""
    experts = spec.experts
    if experts is not None and known.experts is not None:
        own = known.experts
        experts = replace(
            experts,
            groups=own.groups,
            top_groups=own.top_groups,
            every=own.every,
            shared_d_ff=own.shared_d_ff if experts.shared == own.shared else None,
        )
    told = {name: getattr(known, name) for name in _WITHOUT_COLUMN}
    dropout = spec.dropout and known.dropout
    return replace(spec, **told, experts=experts, dropout=dropout)


def _batch(row: MeasuredRow, plan: Plan, assumed: list[str]) -> int:
    if row.mbs and row.microbatches and row.gbs != row.mbs * row.microbatches * plan.dp:
        batch = row.mbs * row.microbatches * plan.dp
        assumed.append(f"batch {batch} (gbs is {row.gbs}, but mbs x microbatches x dp is {batch})")
        return batch
    return row.gbs


def _experts(row: MeasuredRow, assumed: list[str]) -> MixtureOfExperts | None:
    if not row.experts:
        return None
    if row.topk is None:
        raise Inexpressible("topk is empty, but the row has experts")
    shared, dense = row.shared_experts, row.first_dense_layers
    if row.mla and (shared is None or dense is None):
        # DeepSeek-V2 has 2 shared experts and 1 dense layer, DeepSeek-V3 1 and 3
        usual_shared, usual_dense = (1, 3) if row.experts >= 256 else (2, 1)
        shared = usual_shared if shared is None else shared
        dense = min(usual_dense, max(1, row.layers // 4)) if dense is None else dense
        assumed.append(f"{shared} shared experts and {dense} dense layers first, as in DeepSeek")
    if not row.moe_ffn:
        assumed.append("experts as wide as the feed-forward block")
    return MixtureOfExperts(
        row.experts,
        row.topk,
        row.moe_ffn or row.ffn or 4 * row.hidden,
        shared or 0,
        dense_layers=dense or 0,
    )


def _latent(row: MeasuredRow, assumed: list[str]) -> LatentAttention | None:
    if not row.mla:
        return None
    assumed.append("ranks and widths of latent attention as in DeepSeek-V2")
    return LatentAttention(key_value_rank=512, query_rank=1536, nope_dim=128, rope_dim=64, value_dim=128)
