"""The shape of a transformer, as one training step sees it."""

from __future__ import annotations

from dataclasses import dataclass

from dse.errors import InputError

MODEL_DIMENSIONS = (
    "input_dim",
    "output_dim",
    "d_model",
    "d_ff",
    "num_heads",
    "seq_len",
    "batch_size",
    "num_layers",
)
_MAX_DIMENSION = 2**63 - 1


@dataclass(frozen=True)
class ModelSpec:
    """A decoder of equal layers between an input and an output embedding.

    `input_dim` and `output_dim` are the widths of the embeddings (the vocabulary), `d_model` the hidden and
    `d_ff` the feed-forward width, `seq_len` the tokens of a sequence, `batch_size` the sequences of the
    global batch. Sizes are in elements; the workload counts one byte for each (workload specification,
    section 14).

    Raises:
        InputError: a dimension is not an integer from 1 (`num_layers`: 2) to 2^63 - 1.
    """

    name: str
    input_dim: int
    output_dim: int
    d_model: int
    d_ff: int
    num_heads: int
    seq_len: int
    batch_size: int
    num_layers: int

    def __post_init__(self) -> None:
        """Check every dimension."""
        if not self.name:
            raise InputError("model.name is empty; it must name the model, for example llama70b")
        for key in MODEL_DIMENSIONS:
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MAX_DIMENSION:
                raise InputError(
                    f"model.{key} is {value!r}; it must be an integer from 1 to {_MAX_DIMENSION}"
                )
        if self.num_layers < 2:
            raise InputError(
                "model.num_layers is 1; it must be at least 2: with a single layer the output embedding "
                "is left unconnected, and the backward pass starts on its own"
            )
