"""Settings of a model: keys, types, meanings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dse.base.records import converted
from dse.base.settings import group, key
from dse.base.settings.group_files import files_of_group
from dse.inputs.models.spec import ModelSpec


@dataclass
class RepairsSchema:
    """Limits of the reference's model that are repaired: see `dse.inputs.models.Repairs`."""

    bytes_per_element: int | None = key(
        "bytes of an element, 1 to 8. This and all below: null is what `model.fidelity` says",
        None,
    )
    multiply_add_as_two: bool | None = key("a multiply-add is two operations", None)
    block_shapes: bool | None = key("grouped queries and the gate of the feed-forward", None)
    output_projection: bool | None = key("attention ends with an output projection", None)
    nonlinear_operators: bool | None = key("softmax, activation function and dropout", None)
    loss: bool | None = key("the loss turns logits into their gradient", None)
    embedding_lookup: bool | None = key("the input embedding reads rows instead of multiplying", None)
    no_input_gradient: bool | None = key("no gradient of the network's input", None)
    optimizer_state: bool | None = key("Adam in mixed precision: 12 more bytes per weight", None)
    consistent_sharding: bool | None = key("weights that FSDP shards are gathered over dp and sp", None)
    just_in_time_gathers: bool | None = key("FSDP gathers weights a block ahead", None)
    shared_gathers: bool | None = key("q, k, v gather their input once", None)
    contiguous_stages: bool | None = key(
        "neighbouring layers share a stage, micro-batches in the order 1F1B", None
    )
    recompute: str | None = key(
        "what `activation_recompute` computes again: `stage`, `selective` or `full`", None
    )


@dataclass
class ExpertsSchema:
    """Feed-forward blocks that a router chooses from: see `dse.inputs.models.MixtureOfExperts`."""

    count: int | None = key(
        "routed experts of a layer; null here and in the next two keys: no experts",
        None,
    )
    top_k: int | None = key("experts that the router chooses for a token", None)
    d_ff: int | None = key("feed-forward width of one expert", None)
    shared: int | None = key("experts that see every token; null: 0", None)
    shared_d_ff: int | None = key("width of the shared experts together; null: `shared` × `d_ff`", None)
    dense_layers: int | None = key(
        "first layers, which have a dense feed-forward of `model.d_ff`; null: 0", None
    )
    capacity_factor: float | None = key(
        "tokens that an expert takes at most, over the mean; null: dropless", None
    )
    imbalance: float | None = key("tokens of the busiest NPU over the mean, at least 1; null: 1", None)
    every: int | None = key("only every so many layers have experts; null: 1, every layer", None)
    groups: int | None = key("equal groups of experts; null: any experts can go together", None)
    top_groups: int | None = key("groups that the experts of a token may come from", None)


@dataclass
class LatentAttentionSchema:
    """Multi-head latent attention: see `dse.inputs.models.LatentAttention`."""

    key_value_rank: int | None = key(
        "width of the vector that keys and values are made of; null: attention is not latent",
        None,
    )
    query_rank: int | None = key("the same of queries; null: queries have no low rank", None)
    nope_dim: int | None = key("width of a head of queries and keys without rotary positions", None)
    rope_dim: int | None = key("width of its part with rotary positions, which heads of keys share", None)
    value_dim: int | None = key("width of a head of values", None)


@dataclass
class WindowsSchema:
    """Layers in which a token sees its neighbours only: see `dse.inputs.models.AttentionWindows`."""

    size: int | None = key("tokens that a token sees, itself included; null: no windows", None)
    full_every: int | None = key("every so many layers see all tokens; null: none does", None)
    chunked: bool | None = key("windows are chunks that no token looks across; null: false", None)


@dataclass
class SparseAttentionSchema:
    """An indexer that chooses the keys of a token: see `dse.inputs.models.SparseAttention`."""

    heads: int | None = key("heads of the indexer; null in all keys: no indexer", None)
    head_dim: int | None = key("width of a head of the indexer", None)
    top_k: int | None = key("keys that a token attends to", None)


@dataclass
class StateSpaceSchema:
    """Mamba-2 mixers, on the layers M of `layer_pattern`: see `dse.inputs.models.StateSpace`."""

    heads: int | None = key("heads of a mixer; null here and in the next two keys: no such layers", None)
    head_dim: int | None = key("width of a head", None)
    state: int | None = key("width of a head's state", None)
    groups: int | None = key("groups of heads that share what writes and reads states; null: 1", None)
    conv: int | None = key("tokens of the convolution; null: 4", None)


@dataclass
class AdaptersSchema:
    """Low-rank adapters on frozen weights (LoRA): see `dse.inputs.models.blocks.LowRankAdapters`."""

    rank: int | None = key("rank of the adapters; null: all weights are trained", None)
    targets: str | None = key("products with adapters, joined by +; null: qkv+output+feed_forward", None)


@dataclass
class ModelSchema:
    """conf/model/*.yaml: see `dse.inputs.models.ModelSpec`."""

    name: str = key("text, part of the names of studies")
    input_dim: int = key("width of the input embedding (the vocabulary)")
    output_dim: int = key("width of the output embedding")
    d_model: int = key("hidden width")
    d_ff: int = key("feed-forward width")
    num_heads: int = key("heads of queries")
    seq_len: int = key("tokens of a sequence")
    batch_size: int = key("sequences of the global batch")
    num_layers: int = key("layers, at least 2")
    num_kv_heads: int | None = key(
        "heads of keys and values; null: `num_heads`. Shown by the repair `block_shapes` only",
        None,
    )
    gated_mlp: bool = key(
        "the feed-forward has a third matrix, a gate. Shown by the repair `block_shapes` only", False
    )
    micro_batches: int | None = key(
        "micro-batches of a step; null: 1, or up to 4 a stage under `realistic`",
        None,
    )
    fidelity: str = key(
        "`stage` models what STAGE models, `realistic` repairs its limits, see "
        "[workload.md](workload.md#fidelity)",
        "stage",
    )
    repairs: RepairsSchema = field(default_factory=RepairsSchema)
    head_dim: int | None = key(
        "width of a head; null: `d_model` / `num_heads`. This and all below: [models.md](models.md#fields)",
        None,
    )
    experts: ExpertsSchema = group(ExpertsSchema)
    latent_attention: LatentAttentionSchema = group(LatentAttentionSchema)
    tied_embeddings: bool = key("the output embedding is that of the input", False)
    biases: bool = key("matrices of layers have biases, and norms too (LayerNorm)", False)
    qkv_biases: bool = key("queries, keys and values have biases, and nothing else has", False)
    query_key_norms: bool = key("heads of queries and keys are normalised", False)
    learned_positions: int = key("rows of a learned position embedding; 0: none", 0)
    dropout: bool = key("dropout after the softmax and after both blocks", False)
    prediction_layers: int = key("layers that predict further tokens (multi-token prediction)", 0)
    windows: WindowsSchema = group(WindowsSchema)
    attention_sinks: bool = key("each head has a learned logit that takes part in its softmax", False)
    sparse_attention: SparseAttentionSchema = group(SparseAttentionSchema)
    state_space: StateSpaceSchema = group(StateSpaceSchema)
    layer_pattern: str | None = key(
        "a letter a layer, which has one block: M state-space, * attention, - feed-forward, E experts",
        None,
    )
    rms_norm: bool = key("norms have no biases although matrices have", False)
    lora: AdaptersSchema = group(AdaptersSchema)
    post_norms: bool = key("a norm follows each block, too, before its residual", False)


def model_spec(values: ModelSchema) -> ModelSpec:
    """Return the model that the settings describe.

    Raises:
        InputError: a value breaks a rule; names the key, what was got and what is allowed.
    """
    plain = asdict(values)
    for name in ("experts", "windows", "sparse_attention", "state_space", "lora"):
        plain[name] = _group(plain[name])
    latent = _group(plain["latent_attention"])
    plain["latent_attention"] = None if latent is None else {"query_rank": None, **latent}
    spec: ModelSpec = converted(plain, ModelSpec, "model")
    return spec


def _group(values: dict[str, Any]) -> dict[str, Any] | None:
    """The keys that have a value: others are what the specification says; None if none has."""
    return {name: value for name, value in values.items() if value is not None} or None


def models_of_conf() -> Iterator[tuple[str, ModelSpec]]:
    """Yield the models of conf/model by the names of their files.

    Raises:
        InputError: a file breaks a rule.
    """
    for name, values in files_of_group("model", ModelSchema):
        yield name, model_spec(ModelSchema(**values))
