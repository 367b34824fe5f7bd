"""What one NPU holds of a micro-batch and of a layer under a plan: sizes after sharding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from dse.models import ModelSpec
from dse.training.frameworks import Framework, framework_named
from dse.training.kernels import PRECISION_BITS
from dse.training.plan import Plan


@dataclass(frozen=True)
class Local:
    """Sizes on one NPU: tokens and heads of a micro-batch, shards of matrices."""

    model: ModelSpec
    plan: Plan

    @cached_property
    def framework(self) -> Framework:
        """The program that runs the step."""
        found = framework_named(self.plan.framework)
        return found if self.plan.launch_us is None else replace(found, launch_us=self.plan.launch_us)

    @cached_property
    def tokens(self) -> float:
        """Tokens of a micro-batch on this NPU, between the blocks that tensor parallelism splits."""
        return self.plan.micro_batch * self.model.seq_len / self.plan.cp

    @cached_property
    def norm_share(self) -> float:
        """Share of the tokens that norms and residuals work on: sequence parallelism splits them over tp."""
        return 1 / self.plan.tp if self.plan.sequence_parallel else 1.0

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
    def bits(self) -> int:
        """Bits of an operand of the products of weights."""
        return PRECISION_BITS[self.plan.precision]

    @cached_property
    def expert_tp(self) -> int:
        """Tensor-parallel degree of the experts."""
        return self.plan.tp if self.plan.expert_tp is None else self.plan.expert_tp

    @cached_property
    def expert_tokens(self) -> float:
        """Tokens that the experts of the busiest NPU take of a micro-batch, a token counted once per expert.

        The NPUs of an expert group bring their tokens together: each NPU's share is what it brings, times the
        imbalance; a capacity factor bounds it. With expert_tp, the tokens of its NPUs meet.
        """
        experts = self.model.experts
        assert experts is not None
        share = self.plan.tp / self.expert_tp if self.plan.sequence_parallel or self.plan.tp > 1 else 1.0
        factor = experts.imbalance
        if experts.capacity_factor is not None:
            factor = min(factor, experts.capacity_factor)
        return self.tokens * experts.top_k * factor / share

    @cached_property
    def dropout_bytes(self) -> int:
        """Bytes of a dropout's mask per element: 0 without dropout."""
        return 1 if self.model.dropout else 0
