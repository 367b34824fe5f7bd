"""A strategy for a model as the predictor takes it: all that a strategy leaves to a rule is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dse.base.errors import excerpt
from dse.inputs.strategies import AXIS, Strategy

STAGES = AXIS["stages"].choices
"""Rules by which layers are shared out to pipeline stages; `stage_layers` of the engine has them."""


@dataclass(frozen=True, kw_only=True)
class Plan(Strategy):
    """A strategy whose `micro_batch`, `chunks` and `recompute` are those that run; `sp` is 1.

    `activation_recompute` is false, as `recompute` says it. `launch_us`, `elementwise` and
    `optimizer_bytes` are those of the framework; None means what conf/framework says. `optimizer` is adam or
    sgd, by which a framework writes them.
    """

    micro_batch: int = 1
    launch_us: float | None = None
    elementwise: float | None = None
    optimizer_bytes: int | None = None
    optimizer: str = "adam"

    @property
    def zero_stage(self) -> int:
        """The stage of ZeRO, 0 to 3."""
        return 3 if self.weight_sharded else self.zero

    @property
    def expert_degree(self) -> int:
        """The degree of tensor parallelism of experts."""
        return self.expert_tp or self.tp

    @property
    def layers_per_stage(self) -> tuple[int, ...]:
        """The layers of each part of the pipeline in the order of the model; empty where a rule says them."""
        return () if self.stages in STAGES else listed_layers(self.stages)


def listed_layers(text: str) -> tuple[int, ...]:
    """Return the layers of each part of the pipeline that a text lists.

    >>> listed_layers("7-9x2-7")
    (7, 9, 9, 7)
    """
    counts: list[int] = []
    for word in text.split("-"):
        layers, _, times = word.partition("x")
        counts += [int(layers)] * int(times or 1)
    return tuple(counts)


def text_of_layers(counts: Sequence[int]) -> str:
    """Return the text of `stages` that lists the layers of each part."""
    return "-".join(map(str, counts))


def recomputed(modules: list[str], *, has_mlp: bool, assumed: list[str]) -> str:
    """Return the value of `recompute` for modules as Megatron-Core names them; `assumed` gets the others."""
    known = [name for name in dict.fromkeys(modules) if AXIS["recompute"].accepts(name)]
    known = [name for name in known if name != "mlp" or has_mlp]
    if others := sorted(set(modules) - set(known)):
        assumed.append(f"{' and '.join(map(excerpt, others))} not computed again")
    return "selective" if known == ["core_attn"] else "+".join(known) or "none"
