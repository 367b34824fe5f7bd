"""The shape of a transformer, as one training step sees it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property

from dse.base.errors import InputError, did_you_mean
from dse.base.records import shown
from dse.base.settings.schemas import stated
from dse.inputs.models.blocks import LatentAttention, LowRankAdapters, MixtureOfExperts, check_count
from dse.inputs.models.fidelity import FIDELITIES, REPAIRS_OF, Repairs
from dse.inputs.models.mixers import AttentionWindows, SparseAttention, StateSpace

PATTERN_LETTERS = {"M": "state_space", "*": "attention", "-": "feed_forward", "E": "experts"}
"""The letters of `layer_pattern`, and the only block of such a layer."""

MAX_LAYERS = 10_000
MAX_INSTANCES = 200_000  # layers times micro-batches: each is made, and takes some 35 kB


@dataclass(frozen=True)
class ModelSpec:
    """A decoder of equal layers between an input and an output embedding.

    `gated_mlp` is SwiGLU. `experts` and `latent_attention` take the place of dense feed-forward blocks and of
    attention with full-rank projections. Without `biases`, norms are RMSNorm. `prediction_layers`
    (DeepSeek-V3) have a layer's weights, a projection, and logits of their own each. docs/models.md says
    which fidelity shows what.

    `windows` limit what a token sees on some layers, `sparse_attention` on all. `layer_pattern` is of hybrid
    models. `post_norms` are those of Gemma 2 (https://arxiv.org/abs/2408.00118, section 2). `lora` freezes
    all weights and trains adapters.

    `fidelity` stage models what STAGE models: no grouped queries, no gate, one byte an element
    (docs/workload.md); realistic repairs all of that. `repairs` switches single repairs.
    `micro_batches` None is 1 under stage; under realistic with pipeline stages, the greatest divisor of the
    batch on a rank up to 4 a stage (Huang et al. 2019: from there on the bubble is almost negligible).

    Raises:
        InputError: a dimension is not an integer from 1 (`num_layers`: 2) to 2^63 - 1; there are more than
            10,000 layers, or 200,000 layers times micro-batches; a choice is unknown; the name is empty or
            not printable; fields contradict each other, such as latent attention with `head_dim`.
    """

    name: str = field(metadata=stated("text, part of the names of studies"))
    input_dim: int = field(metadata=stated("width of the input embedding (the vocabulary)"))
    output_dim: int = field(metadata=stated("width of the output embedding"))
    d_model: int = field(metadata=stated("hidden width"))
    d_ff: int = field(metadata=stated("feed-forward width"))
    num_heads: int = field(metadata=stated("heads of queries"))
    seq_len: int = field(metadata=stated("tokens of a sequence"))
    batch_size: int = field(metadata=stated("sequences of the global batch"))
    num_layers: int = field(metadata=stated("layers, at least 2"))
    num_kv_heads: int | None = field(
        default=None,
        metadata=stated(
            "heads of keys and values; null: `num_heads`. Shown by the repair `block_shapes` only"
        ),
    )
    gated_mlp: bool = field(
        default=False,
        metadata=stated(
            "the feed-forward has a third matrix, a gate. Shown by the repair `block_shapes` only"
        ),
    )
    micro_batches: int | None = field(
        default=None,
        metadata=stated(
            "micro-batches of a step; null: 1, or up to 4 a stage under `realistic`", is_choice=True
        ),
    )
    fidelity: str = field(
        default="stage",
        metadata=stated(
            "`stage` models what STAGE models, `realistic` repairs its limits, see "
            "[workload.md](workload.md#fidelity)"
        ),
    )
    repairs: Repairs = field(default_factory=Repairs)
    head_dim: int | None = field(
        default=None,
        metadata=stated(
            "width of a head; null: `d_model` / `num_heads`. This and all below: "
            "[models.md](models.md#fields)"
        ),
    )
    experts: MixtureOfExperts | None = None
    latent_attention: LatentAttention | None = None
    tied_embeddings: bool = field(default=False, metadata=stated("the output embedding is that of the input"))
    biases: bool = field(
        default=False, metadata=stated("matrices of layers have biases, and norms too (LayerNorm)")
    )
    qkv_biases: bool = field(
        default=False, metadata=stated("queries, keys and values have biases, and nothing else has")
    )
    query_key_norms: bool = field(default=False, metadata=stated("heads of queries and keys are normalised"))
    learned_positions: int = field(
        default=0, metadata=stated("rows of a learned position embedding; 0: none")
    )
    dropout: bool = field(default=False, metadata=stated("dropout after the softmax and after both blocks"))
    prediction_layers: int = field(
        default=0, metadata=stated("layers that predict further tokens (multi-token prediction)")
    )
    windows: AttentionWindows | None = None
    attention_sinks: bool = field(
        default=False, metadata=stated("each head has a learned logit that takes part in its softmax")
    )
    sparse_attention: SparseAttention | None = None
    state_space: StateSpace | None = None
    layer_pattern: str | None = field(
        default=None,
        metadata=stated(
            "a letter a layer, which has one block: M state-space, * attention, - feed-forward, E experts"
        ),
    )
    rms_norm: bool = field(default=False, metadata=stated("norms have no biases although matrices have"))
    lora: LowRankAdapters | None = None
    post_norms: bool = field(
        default=False, metadata=stated("a norm follows each block, too, before its residual")
    )

    def __post_init__(self) -> None:
        """Check every dimension."""
        if not self.name:
            raise InputError("model.name is empty; it must name the model, for example llama70b")
        if not self.name.isprintable():
            raise InputError(f"model.name is {self.name!r}; it must have printable characters only")
        for key in (*MODEL_DIMENSIONS, "num_kv_heads", "micro_batches"):
            value = getattr(self, key)
            if value is None and key not in MODEL_DIMENSIONS:
                continue
            check_count(f"model.{key}", value)
        if self.num_layers < 2:
            raise InputError(
                "model.num_layers is 1; it must be at least 2: with a single layer the output embedding "
                "is left unconnected, and the backward pass starts on its own"
            )
        if self.num_layers > MAX_LAYERS:
            raise InputError(f"model.num_layers is {self.num_layers}; at most {MAX_LAYERS} are allowed")
        if (self.micro_batches or 1) * self.num_layers > MAX_INSTANCES:
            raise InputError(
                f"model.micro_batches is {self.micro_batches}; with {self.num_layers} layers at most "
                f"{MAX_INSTANCES // self.num_layers} are allowed"
            )
        if self.num_heads % (self.num_kv_heads or 1):
            raise InputError(
                f"model.num_kv_heads is {self.num_kv_heads}; it must divide model.num_heads, {self.num_heads}"
            )
        if self.fidelity not in FIDELITIES:
            raise InputError(
                f"model.fidelity is {self.fidelity!r}; allowed are {', '.join(FIDELITIES)}"
                f"{did_you_mean(str(self.fidelity), FIDELITIES)}"
            )
        for key in _SWITCHES:
            if not isinstance(getattr(self, key), bool):
                raise InputError(f"model.{key} is {getattr(self, key)!r}; it must be true or false")
        self._check_blocks()
        if self.batch_size % (self.micro_batches or 1):
            raise InputError(
                f"model.micro_batches is {self.micro_batches}; it must divide model.batch_size, "
                f"{self.batch_size}"
            )
        if (self.micro_batches or 1) > 1 and not self.resolved_repairs.contiguous_stages:
            raise InputError(
                f"model.micro_batches is {self.micro_batches}; with stages that go round robin it must be 1: "
                "write model.fidelity=realistic or model.repairs.contiguous_stages=true too"
            )

    def _check_blocks(self) -> None:
        """Check what not every model has."""
        check_count("model.learned_positions", self.learned_positions, 0)
        check_count("model.prediction_layers", self.prediction_layers, 0, self.num_layers)
        if self.head_dim is not None:
            check_count("model.head_dim", self.head_dim)
        if self.experts is not None and self.experts.every > self.num_layers:
            raise InputError(
                f"model.experts.every is {self.experts.every}; it must be at most model.num_layers, "
                f"{self.num_layers}: otherwise no layer has experts"
            )
        if self.experts is not None and self.experts.dense_layers >= self.num_layers:
            raise InputError(
                f"model.experts.dense_layers is {self.experts.dense_layers}; it must be below "
                f"model.num_layers, {self.num_layers}: otherwise no layer has experts"
            )
        if self.tied_embeddings and self.input_dim != self.output_dim:
            raise InputError(
                f"model.tied_embeddings is true, but model.input_dim is {self.input_dim} and "
                f"model.output_dim {self.output_dim}; embeddings of different widths cannot be tied"
            )
        if self.biases and self.qkv_biases:
            raise InputError(
                "model.qkv_biases is true, but model.biases, too, which means all; write only one"
            )
        if self.rms_norm and not self.biases:
            raise InputError(
                "model.rms_norm is true, but model.biases is false: norms have no biases anyway; leave it out"
            )
        self._check_pattern()
        self._check_sparse_attention()
        latent = self.latent_attention
        if latent is None:
            return
        foreign = {
            "head_dim": self.head_dim is not None,
            "num_kv_heads": self.key_value_heads != self.num_heads,
            "qkv_biases": self.qkv_biases,
            "query_key_norms": self.query_key_norms,
            "attention_sinks": self.attention_sinks,
        }
        for key in [key for key, is_set in foreign.items() if is_set]:
            raise InputError(
                f"model.{key} is {shown(getattr(self, key))}, which has no effect with "
                "model.latent_attention; leave it out"
            )

    def _check_pattern(self) -> None:
        """Check that a pattern of layers has the blocks that it names, and nothing else orders them."""
        pattern, state_space, experts = self.layer_pattern, self.state_space, self.experts
        if pattern is None:
            if state_space is not None:
                raise InputError(
                    "model.state_space has no effect without model.layer_pattern; write which layers have "
                    "it, as in M-M*M-"
                )
            return
        if set(pattern) - set(PATTERN_LETTERS) or len(pattern) != self.num_layers:
            raise InputError(
                f"model.layer_pattern is {shown(pattern)}; it must have one of the letters "
                f"{' '.join(PATTERN_LETTERS)} for each of the {self.num_layers} layers"
            )
        for letter, key, value in (("M", "state_space", state_space), ("E", "experts", experts)):
            if letter in pattern and value is None:
                raise InputError(f"model.layer_pattern has a layer {letter}; write model.{key} too")
            if letter not in pattern and value is not None:
                raise InputError(f"model.layer_pattern has no layer {letter}; leave out model.{key}")
        ordered = {
            "windows": self.windows is not None,
            "experts.dense_layers": experts is not None and experts.dense_layers > 0,
            "experts.every": experts is not None and experts.every > 1,
        }
        for key in [key for key, is_set in ordered.items() if is_set]:
            raise InputError(f"model.{key} has no effect with model.layer_pattern; leave it out")

    def _check_sparse_attention(self) -> None:
        """Check that an indexer has the queries that it needs, and that nothing else chooses keys."""
        if self.sparse_attention is None:
            return
        if self.latent_attention is None or self.latent_attention.query_rank is None:
            raise InputError(
                "model.sparse_attention needs model.latent_attention.query_rank: its queries are made from "
                "the low-rank query"
            )
        if self.windows is not None:
            raise InputError("model.windows goes without model.sparse_attention; leave one out")

    @cached_property
    def resolved_repairs(self) -> Repairs:
        """The repairs without None, which becomes what the fidelity says where nothing else is said."""
        return self.repairs.over(REPAIRS_OF[self.fidelity])

    @cached_property
    def is_reference(self) -> bool:
        """Whether this is exactly what STAGE models."""
        return self.resolved_repairs == REPAIRS_OF["stage"]

    @property
    def key_value_heads(self) -> int:
        """Heads of keys and values that the model has."""
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads

    @property
    def key_width(self) -> int:
        """Width of a head of queries and keys."""
        if self.latent_attention is not None:
            return self.latent_attention.nope_dim + self.latent_attention.rope_dim
        return self.d_model // self.num_heads if self.head_dim is None else self.head_dim

    @property
    def value_width(self) -> int:
        """Width of a head of values."""
        return self.key_width if self.latent_attention is None else self.latent_attention.value_dim

    @property
    def shown_kv_heads(self) -> int:
        """Heads of keys and values that the workload has."""
        shown = self.resolved_repairs.block_shapes and self.num_kv_heads
        return self.num_kv_heads if shown and self.num_kv_heads else self.num_heads

    def micro_batches_on(self, dp: int, pp: int) -> int:
        """Number of micro-batches under these degrees."""
        if self.micro_batches is not None:
            return self.micro_batches
        if self.fidelity == "stage" or pp == 1 or not self.resolved_repairs.contiguous_stages:
            return 1
        batch = self.batch_size // dp if self.batch_size % dp == 0 else self.batch_size
        return max(count for count in range(1, 4 * pp + 1) if batch % count == 0)

    def choices_under(self, dp: int, pp: int, *, activation_recompute: bool) -> dict[str, object]:
        """The fields `CHOICES` by dotted name, as they take effect under a strategy."""
        recompute = self.resolved_repairs.recompute if activation_recompute else None
        return {"micro_batches": self.micro_batches_on(dp, pp), "repairs.recompute": recompute}

    @property
    def parameters(self) -> int:
        """Number of weights that the workload has, embeddings included (no biases, no norms)."""
        repairs = self.resolved_repairs
        gated = repairs.block_shapes and self.gated_mlp
        projections = 4 if repairs.output_projection else 3
        keys_and_values = 2 * self.d_model * self.shown_kv_heads // self.num_heads
        attention = self.d_model * ((projections - 2) * self.d_model + keys_and_values)
        feed_forward = (3 if gated else 2) * self.d_model * self.d_ff
        embeddings = (self.input_dim + self.output_dim) * self.d_model
        return self.num_layers * (attention + feed_forward) + embeddings


MODEL_DIMENSIONS = tuple(
    each.name for each in fields(ModelSpec) if each.type == "int" and each.default is MISSING
)
_SWITCHES = tuple(each.name for each in fields(ModelSpec) if each.type == "bool")
CHOICES = (
    *[entry.name for entry in fields(ModelSpec) if entry.metadata.get("is_choice")],
    *[f"repairs.{entry.name}" for entry in fields(Repairs) if entry.metadata.get("is_choice")],
)
"""Dotted names of the fields that say how a model is run, not what it is: they compete, as strategies do."""
