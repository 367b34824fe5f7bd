"""Low-rank adapters (LoRA): what training updates while the model's own weights are frozen."""

from __future__ import annotations

from dataclasses import dataclass

from dse.base.errors import InputError
from dse.base.suggestions import did_you_mean
from dse.inputs.models.blocks import check_count

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

    rank: int
    targets: str = "+".join(TARGETS)

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
