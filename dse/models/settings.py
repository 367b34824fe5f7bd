"""Settings of a model: keys, types, meanings."""

from __future__ import annotations

from dataclasses import dataclass, field

from dse.settings import key


@dataclass
class RepairsSchema:
    """Which limits of the reference's model are repaired: see `dse.models.Repairs`."""

    bytes_per_element: int | None = key(
        "bytes of an element, 1 to 8. This and all below: null is what `model.fidelity` says,"
        " see [workload.md](workload.md#fidelity)",
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
class ModelSchema:
    """conf/model/*.yaml: see `dse.models.ModelSpec`."""

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
        "heads of keys and values in grouped-query attention; null: `num_heads`. Shown by the"
        " repair `block_shapes` only",
        None,
    )
    gated_mlp: bool = key(
        "the feed-forward has a third matrix, a gate. Shown by the repair `block_shapes` only", False
    )
    micro_batches: int | None = key(
        "micro-batches of a step. null: 1; under `realistic` with pp > 1, as many as divide "
        "the batch, up to 4 a stage",
        None,
    )
    fidelity: str = key(
        "`stage` models what STAGE models, `realistic` repairs its limits, see "
        "[workload.md](workload.md#fidelity)",
        "stage",
    )
    repairs: RepairsSchema = field(default_factory=RepairsSchema)
