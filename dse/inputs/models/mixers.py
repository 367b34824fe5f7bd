"""Mixers of tokens besides full attention: windows, sparse attention, state-space mixers."""

from __future__ import annotations

from dataclasses import dataclass, field

from dse.base.errors import InputError
from dse.base.settings.schemas import stated
from dse.inputs.models.blocks import check_count


@dataclass(frozen=True)
class AttentionWindows:
    """Layers in which a token sees the `size` tokens up to itself, or those of its chunk of `size` tokens.

    Every `full_every`-th layer sees all tokens; None means that no layer does. `chunked` chooses chunks
    (Llama 4), which no token looks across.

    Raises:
        InputError: a size is not an integer from 1, `full_every` not one from 2; `chunked` is no switch.
    """

    size: int = field(metadata=stated("tokens that a token sees, itself included; null: no windows"))
    full_every: int | None = field(
        default=None, metadata=stated("every so many layers see all tokens; null: none does")
    )
    chunked: bool = field(
        default=False, metadata=stated("windows are chunks that no token looks across; null: false")
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_count("model.windows.size", self.size)
        if self.full_every is not None:
            check_count("model.windows.full_every", self.full_every, 2)
        if not isinstance(self.chunked, bool):
            raise InputError(f"model.windows.chunked is {self.chunked!r}; it must be true or false")

    def mean_keys(self, tokens: int) -> float:
        """Return how many keys a token of a causal sequence sees on average, half of its own counted.

        >>> AttentionWindows(4).mean_keys(8)
        3.0
        >>> AttentionWindows(4, chunked=True).mean_keys(8)
        2.0
        """
        if not self.chunked:
            return mean_latest_keys(self.size, tokens)
        chunks, rest = divmod(tokens, self.size)
        return (chunks * self.size**2 + rest**2) / (2 * tokens)


def mean_latest_keys(most: int, tokens: int) -> float:
    """Return the mean over a causal sequence where a token sees at most `most` keys."""
    seen = min(most, tokens)
    return seen - seen**2 / (2 * tokens)


@dataclass(frozen=True)
class SparseAttention:
    """An indexer chooses the `top_k` keys that a token attends to (DeepSeek-V3.2).

    Its `heads` queries of width `head_dim` come from the low-rank query of latent attention, its one key and
    the weights of its heads from the hidden state (https://arxiv.org/abs/2512.02556, section 2.1).

    Raises:
        InputError: a value is not an integer from 1 to 2^63 - 1.
    """

    heads: int = field(metadata=stated("heads of the indexer; null in all keys: no indexer"))
    head_dim: int = field(metadata=stated("width of a head of the indexer"))
    top_k: int = field(metadata=stated("keys that a token attends to"))

    def __post_init__(self) -> None:
        """Check every value."""
        for key in ("heads", "head_dim", "top_k"):
            check_count(f"model.sparse_attention.{key}", getattr(self, key))


@dataclass(frozen=True)
class StateSpace:
    """Mamba-2 mixers (https://arxiv.org/abs/2405.21060, section 7): `heads` of width `head_dim`.

    Each head has a state of `head_dim` x `state` elements. `groups` of heads share what writes and reads it.
    A causal convolution over `conv` tokens comes first.

    Raises:
        InputError: a value is not an integer from 1; `groups` do not divide `heads`.
    """

    heads: int = field(
        metadata=stated("heads of a mixer; null here and in the next two keys: no such layers")
    )
    head_dim: int = field(metadata=stated("width of a head"))
    state: int = field(metadata=stated("width of a head's state"))
    groups: int = field(
        default=1, metadata=stated("groups of heads that share what writes and reads states; null: 1")
    )
    conv: int = field(default=4, metadata=stated("tokens of the convolution; null: 4"))

    def __post_init__(self) -> None:
        """Check every value."""
        for key in ("heads", "head_dim", "state", "groups", "conv"):
            check_count(f"model.state_space.{key}", getattr(self, key))
        if self.heads % self.groups:
            raise InputError(
                f"model.state_space.groups is {self.groups}; it must divide model.state_space.heads, "
                f"{self.heads}"
            )

    @property
    def width(self) -> int:
        """Features of all heads."""
        return self.heads * self.head_dim

    @property
    def conv_width(self) -> int:
        """Features that the convolution runs over: heads, and what writes and reads the states."""
        return self.width + 2 * self.groups * self.state

    @property
    def state_elements(self) -> int:
        """Elements of the states of all heads."""
        return self.width * self.state
