"""The share that one NPU holds of a micro-batch and of a layer under a plan: sizes after sharding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dse.inputs.models import ModelSpec
from dse.inputs.models.counts import ParameterCounts, parameters
from dse.inputs.models.matrices import LayerKind, blocks_of
from dse.inputs.strategies.precisions import PRECISIONS
from dse.prediction.steps.frameworks import Framework, framework_named
from dse.prediction.steps.plan import Plan


@dataclass(frozen=True)
class Local:
    """Sizes on one NPU: tokens and heads of a micro-batch, shards of matrices."""

    model: ModelSpec
    plan: Plan

    @cached_property
    def framework(self) -> Framework:
        """The program that runs the step."""
        own: dict[str, Any] = {"launch_us": self.plan.launch_us, "elementwise": self.plan.elementwise}
        given = {name: value for name, value in own.items() if value is not None}
        return replace(framework_named(self.plan.framework), **given)

    @cached_property
    def parameters(self) -> ParameterCounts:
        """Parameters of the whole model."""
        return parameters(self.model)

    @cached_property
    def tokens(self) -> float:
        """Tokens of a micro-batch on this NPU, between the blocks that tensor parallelism splits."""
        return self.plan.micro_batch * self.model.seq_len / self.plan.cp

    @cached_property
    def norm_share(self) -> float:
        """Share of the tokens that norms and residuals work on: sequence parallelism splits them over tp."""
        return 1 / self.plan.tp if self.plan.sequence_parallel else 1.0

    @cached_property
    def residual_share(self) -> float:
        """Share of residuals that are kept on this NPU; some frameworks split them in any case."""
        return 1 / self.plan.tp if self.framework.memory.splits_residual else self.norm_share

    @cached_property
    def heads(self) -> float:
        """Heads of queries on this NPU."""
        return self.model.num_heads / self.plan.tp

    @cached_property
    def query_width(self) -> float:
        """Features of all queries on this NPU."""
        return self.heads * self.model.key_width

    @cached_property
    def key_width(self) -> float:
        """Features of all keys on this NPU; heads of keys are copied where tp exceeds them."""
        if self.model.latent_attention is not None:
            return self.query_width
        return max(self.model.key_value_heads / self.plan.tp, 1.0) * self.model.key_width

    @cached_property
    def value_width(self) -> float:
        """Features of all values on this NPU."""
        if self.model.latent_attention is not None:
            return self.heads * self.model.value_width
        return self.key_width

    @cached_property
    def output_width(self) -> float:
        """Features that attention hands to its output projection."""
        return self.heads * self.model.value_width

    @cached_property
    def state_widths(self) -> tuple[float, float]:
        """Features of a state-space mixer on this NPU: of its first product, and of its heads."""
        mixer = self.model.state_space
        assert mixer is not None
        made = mixer.width + mixer.conv_width + mixer.heads
        return made / self.plan.tp, mixer.width / self.plan.tp

    @cached_property
    def bits(self) -> int:
        """Bits of an operand of the products of weights."""
        return PRECISIONS[self.plan.precision].bits

    @cached_property
    def expert_tp(self) -> int:
        """Tensor-parallel degree of the experts."""
        return self.plan.expert_degree

    @cached_property
    def expert_tokens(self) -> float:
        """Tokens that the experts of the busiest NPU take of a micro-batch, a token counted once per expert.

        The NPUs of an expert group bring their tokens together: each NPU's share is what it brings, times the
        imbalance; a capacity factor bounds it. With expert_tp, the tokens of its NPUs meet.
        """
        experts = self.model.experts
        assert experts is not None
        return self.tokens * experts.top_k * self.expert_load * self.expert_tp / self.plan.tp

    @cached_property
    def expert_load(self) -> float:
        """Tokens that the busiest NPU's experts take over their mean.

        Where every NPU has all experts, it takes what it brings. A capacity factor bounds it.
        """
        experts = self.model.experts
        assert experts is not None
        load = experts.imbalance if self.plan.ep > 1 else 1.0
        return load if experts.capacity_factor is None else min(load, experts.capacity_factor)

    def has_experts(self, kind: LayerKind) -> bool:
        """Whether layers of a kind have a mixture of experts."""
        return blocks_of(self.model, kind).feed_forward == "experts"

    def is_tensor_block(self, kind: LayerKind) -> bool:
        """Whether the ranks of tensor parallelism meet before and after the feed-forward block of a layer.

        With sequence parallelism experts take the tokens that a rank has: only shared ones are a block
        (Megatron-Core).
        """
        experts = self.model.experts
        if experts is None or not self.has_experts(kind) or not self.plan.sequence_parallel:
            return True
        return experts.shared_width > 0

    def tensor_blocks(self, kind: LayerKind) -> int:
        """Blocks of a layer before and after which they meet; prediction layers begin with a projection."""
        blocks = blocks_of(self.model, kind)
        feed_forward = blocks.feed_forward is not None and self.is_tensor_block(kind)
        return (kind == "prediction") + (blocks.mixer is not None) + feed_forward

    @cached_property
    def dropout_bytes(self) -> int:
        """Bytes of a dropout's mask per element: 0 without dropout."""
        return 1 if self.model.dropout else 0
