"""Parts of a transformer block that not every model has: mixtures of experts, latent attention."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dse.base.errors import InputError, did_you_mean
from dse.base.settings.schemas import stated

MAX_DIMENSION = 2**63 - 1


def check_count(key: str, value: object, least: int = 1, greatest: int = MAX_DIMENSION) -> None:
    """Refuse what is not an integer between two bounds.

    Raises:
        InputError: names the key, what was got, and the bounds.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= greatest:
        raise InputError(f"{key} is {value!r}; it must be an integer from {least} to {greatest}")


@dataclass(frozen=True)
class MixtureOfExperts:
    """Feed-forward blocks of which a router chooses `top_k` of `count` for every token.

    Of the layers after `dense_layers`, only every `every`-th has experts. With `groups`, a token's experts
    lie in `top_groups` of so many equal groups (DeepSeek-V3, https://arxiv.org/abs/2412.19437, section
    2.1.2).

    Raises:
        InputError: a count is not an integer in its range; `shared_d_ff` without `shared`; a factor that is
            not at least 1 (`capacity_factor`: above 0); groups that do not divide the experts, or of which a
            token may use too few.
    """

    count: int = field(
        metadata=stated("routed experts of a layer; null here and in the next two keys: no experts")
    )
    top_k: int = field(metadata=stated("experts that the router chooses for a token"))
    d_ff: int = field(metadata=stated("feed-forward width of one expert"))
    shared: int = field(default=0, metadata=stated("experts that see every token; null: 0"))
    shared_d_ff: int | None = field(
        default=None, metadata=stated("width of the shared experts together; null: `shared` × `d_ff`")
    )
    dense_layers: int = field(
        default=0, metadata=stated("first layers, which have a dense feed-forward of `model.d_ff`; null: 0")
    )
    capacity_factor: float | None = field(
        default=None, metadata=stated("tokens that an expert takes at most, over the mean; null: dropless")
    )
    imbalance: float = field(
        default=1.0, metadata=stated("tokens of the busiest NPU over the mean, at least 1; null: 1")
    )
    every: int = field(
        default=1, metadata=stated("only every so many layers have experts; null: 1, every layer")
    )
    groups: int | None = field(
        default=None, metadata=stated("equal groups of experts; null: any experts can go together")
    )
    top_groups: int | None = field(
        default=None, metadata=stated("groups that the experts of a token may come from")
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_count("model.experts.count", self.count, 2)
        check_count("model.experts.top_k", self.top_k)
        check_count("model.experts.d_ff", self.d_ff)
        check_count("model.experts.shared", self.shared, 0)
        check_count("model.experts.dense_layers", self.dense_layers, 0)
        if self.top_k > self.count:
            raise InputError(
                f"model.experts.top_k is {self.top_k}; it must be at most model.experts.count, {self.count}"
            )
        if self.shared_d_ff is not None:
            check_count("model.experts.shared_d_ff", self.shared_d_ff)
            if not self.shared:
                raise InputError(
                    f"model.experts.shared_d_ff is {self.shared_d_ff}, but model.experts.shared is 0; write "
                    "model.experts.shared=1 too"
                )
        if self.capacity_factor is not None and not 0 < self.capacity_factor < math.inf:
            raise InputError(
                f"model.experts.capacity_factor is {self.capacity_factor}; it must be a number above 0, or "
                "null, which drops no token"
            )
        if not 1 <= self.imbalance < math.inf:
            raise InputError(
                f"model.experts.imbalance is {self.imbalance}; it must be a number from 1: the tokens of the "
                "busiest NPU over the mean"
            )
        check_count("model.experts.every", self.every)
        if self.groups is not None or self.top_groups is not None:
            self._check_groups()

    def _check_groups(self) -> None:
        groups, most = self.groups, self.top_groups
        if groups is None or most is None:
            absent, given = ("groups", "top_groups") if groups is None else ("top_groups", "groups")
            raise InputError(
                f"model.experts.{given} is {getattr(self, given)}, but model.experts.{absent} has no value; "
                "write both or none"
            )
        check_count("model.experts.groups", groups)
        check_count("model.experts.top_groups", most)
        if self.count % groups:
            raise InputError(
                f"model.experts.groups is {groups}; it must divide model.experts.count, {self.count}"
            )
        if not self.top_k <= most * self.count // groups <= self.count:
            raise InputError(
                f"model.experts.top_groups is {most}; it must be at most the {groups} groups, and their "
                f"experts at least model.experts.top_k, {self.top_k}"
            )

    @property
    def shared_width(self) -> int:
        """Width of the feed-forward block that the shared experts are together."""
        return self.shared * self.d_ff if self.shared_d_ff is None else self.shared_d_ff


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, https://arxiv.org/abs/2405.04434, section 2.1).

    Queries, keys and values have low ranks; the widths are those of one head.

    Raises:
        InputError: a rank or width is not an integer from 1 to 2^63 - 1.
    """

    key_value_rank: int = field(
        metadata=stated("width of the vector that keys and values are made of; null: attention is not latent")
    )
    query_rank: int | None = field(metadata=stated("the same of queries; null: queries have no low rank"))
    nope_dim: int = field(metadata=stated("width of a head of queries and keys without rotary positions"))
    rope_dim: int = field(
        metadata=stated("width of its part with rotary positions, which heads of keys share")
    )
    value_dim: int = field(metadata=stated("width of a head of values"))

    def __post_init__(self) -> None:
        """Check every width."""
        for key in ("key_value_rank", "nope_dim", "rope_dim", "value_dim"):
            check_count(f"model.latent_attention.{key}", getattr(self, key))
        if self.query_rank is not None:
            check_count("model.latent_attention.query_rank", self.query_rank)


TARGETS = ("qkv", "output", "feed_forward")


@dataclass(frozen=True)
class LowRankAdapters:
    """Two matrices of rank `rank` for each of the products that `targets` names, joined by +.

    `qkv` are the products that make queries, keys and values, `output` the one after attention, and
    `feed_forward` those of dense blocks, routed and shared experts. Products that run as one have one adapter
    (https://arxiv.org/abs/2106.09685, section 4.1).

    Raises:
        InputError: `rank` is not an integer from 1; a target is unknown, or named twice.
    """

    rank: int = field(metadata=stated("rank of the adapters; null: all weights are trained"))
    targets: str = field(
        default="+".join(TARGETS),
        metadata=stated("products with adapters, joined by +; null: qkv+output+feed_forward"),
    )

    def __post_init__(self) -> None:
        """Check every value."""
        check_count("model.lora.rank", self.rank)
        named = self.targets.split("+")
        for name in named:
            if name not in TARGETS or named.count(name) > 1:
                raise InputError(
                    f"model.lora.targets is {self.targets!r}; it must be some of {', '.join(TARGETS)}, "
                    f"joined by +{did_you_mean(name, TARGETS) if name not in TARGETS else ''}"
                )

    def adapts(self, part: str, name: str) -> bool:
        """Whether a matrix of a part of a layer has an adapter."""
        target = "feed_forward"
        if part == "attention":
            target = "output" if name == "output" else "qkv"
        elif part not in ("feed_forward", "experts", "shared_experts"):
            return False
        return target in self.targets.split("+")
