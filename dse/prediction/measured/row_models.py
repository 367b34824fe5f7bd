"""The model of a measured row; what the row does not say is assumed, and told."""

from __future__ import annotations

from dse.base.errors import InputError
from dse.inputs.models import LatentAttention, MixtureOfExperts, ModelSpec
from dse.prediction.measured.row_schedules import Inexpressible
from dse.prediction.measured.rows import MeasuredRow
from dse.prediction.steps.plan import Plan


def model_of(row: MeasuredRow, plan: Plan, assumed: list[str]) -> ModelSpec:
    """Return the model that a row ran.

    Raises:
        Inexpressible: there is no such model.
    """
    gated = bool(row.gated)
    vocab = row.vocab
    if vocab is None:
        vocab = 51200
        assumed.append("vocab 51200")
    d_ff = row.ffn or 4 * row.hidden
    if not row.ffn:
        assumed.append(f"a feed-forward width of {d_ff}, 4 x hidden")
    has_dropout = not gated and plan.framework != "llm-foundry"
    like = ("" if gated else "not ") + "gated" + ("" if row.gated is not None else " (unknown)")
    embeddings = "" if row.tied_embeddings is not None else f"{'untied' if gated else 'tied'} embeddings, "
    assumed.append(
        f"{embeddings}{'no ' if gated else ''}biases and "
        f"{'' if has_dropout else 'no '}dropout, as the feed-forward block is {like}"
    )
    try:
        return ModelSpec(
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
            # as GPT-2 and its descendants where the row does not say it
            tied_embeddings=not gated if row.tied_embeddings is None else row.tied_embeddings,
            biases=not gated,
            dropout=has_dropout,
            prediction_layers=row.mtp_layers or 0,
        )
    except InputError as error:
        raise Inexpressible(f"no such model: {error}") from None


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
