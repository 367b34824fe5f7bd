"""The passes of each stage in seconds: kernels of its layers and the collectives inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dse.accelerators.cluster import Cluster
from dse.accelerators.placement import Group
from dse.models.matrices import LayerKind
from dse.training.blocks import embedding, head, layer
from dse.training.collectives import Links
from dse.training.kernels import Pass
from dse.training.layout import Chunk
from dse.training.local import Local
from dse.training.memory import layer_activations, layer_weights
from dse.training.timing import Parts, Rates, kernels_s

HOST_LINK = 25e9
"""Bytes per second between an NPU and the host's memory: PCIe 4.0 x16 (32 GB/s), at 0.8."""


@dataclass(frozen=True)
class Passes:
    """Seconds of one micro-batch by part: forward, backward with recomputation, of it weight gradients."""

    forward: Parts
    backward: Parts
    weight_s: float = 0.0

    @property
    def both(self) -> Parts:
        """Forward and backward."""
        return self.forward.plus(self.backward)


@dataclass(frozen=True)
class Timer:
    """Times the blocks of a model under a plan; each kind of block once."""

    local: Local
    cluster: Cluster
    groups: Mapping[str, Group]

    @cached_property
    def rates(self) -> Rates:
        """What kernels reach."""
        framework, accelerator = self.local.framework, self.cluster.accelerator
        has_8bit = "fp8" in accelerator.peak_tflops
        factor = framework.attention_factor_8bit if has_8bit else framework.attention_factor
        return Rates.of(accelerator, launch_us=framework.launch_us, attention_factor=factor)

    def links(self, axis: str) -> Links:
        """The links of the groups of an axis."""
        return Links.of(self.groups[axis], self.cluster)

    def chunk(self, chunk: Chunk) -> Passes:
        """Time of one micro-batch on a chunk."""
        forward, backward, weight_s = Parts(), Parts(), 0.0
        for kind, count in chunk.layers:
            if count == 0:
                continue
            plain, again = self._layer(kind, False), self._layer(kind, True)
            repeated = self._repeated(chunk.count) / chunk.count
            forward = forward.plus(plain.forward, count)
            backward = backward.plus(plain.backward, count * (1 - repeated)).plus(
                again.backward, count * repeated
            )
            weight_s += count * plain.weight_s
        ends = [embedding] * chunk.has_embedding + [head] * chunk.has_head
        for block in ends:
            own = self._end(block(self.local), is_head=block is head)
            forward, backward = forward.plus(own.forward), backward.plus(own.backward)
            weight_s += own.weight_s
        return Passes(forward, backward, weight_s)

    def _repeated(self, layers: int) -> int:
        """Layers of a chunk that are computed again."""
        plan = self.local.plan
        if plan.recompute == "none":
            return 0
        return layers if plan.recompute_layers is None else min(plan.recompute_layers, layers)

    def _layer(self, kind: LayerKind, is_recomputed: bool) -> Passes:
        key = (kind, is_recomputed)
        if key not in self._layers:
            self._layers[key] = self._timed(kind, is_recomputed)
        return self._layers[key]

    @cached_property
    def _layers(self) -> dict[tuple[LayerKind, bool], Passes]:
        return {}

    def _timed(self, kind: LayerKind, is_recomputed: bool) -> Passes:
        local, plan = self.local, self.local.plan
        kernels = layer(local, kind)
        has_experts = local.model.experts is not None and kind != "dense"
        forward = kernels_s(kernels.forward, self.rates)
        backward = kernels_s(kernels.backward, self.rates)
        self._communicate(forward, backward, has_experts)
        if is_recomputed and plan.recompute == "full":
            backward = backward.plus(forward)
        if is_recomputed and plan.recompute == "selective":
            backward = backward.plus(kernels_s(kernels.selective, self.rates))
        if plan.zero == 3:
            self._gather_weights(kind, forward, backward)
        if plan.offload == "activations":
            moved = layer_activations(local, kind)[0] / HOST_LINK
            for one in (forward, backward):
                one.add("memory_bound", max(0.0, moved - one.total_s))
        products = backward.get("matrix_products", 0.0) - (
            forward.get("matrix_products", 0.0) if is_recomputed and plan.recompute == "full" else 0.0
        )
        return Passes(forward, backward, products / 2)

    def _communicate(self, forward: Parts, backward: Parts, has_experts: bool) -> None:
        """Add the collectives inside a layer, as far as nothing hides them."""
        local, plan = self.local, self.local.plan
        size = 2 * local.tokens * local.model.d_model
        exposed = 1 - (local.framework.tp_overlap if plan.overlap_tp else 0.0)
        if plan.tp > 1:
            links = self.links("tp")
            if (
                plan.sequence_parallel
            ):  # the inputs of products are gathered again for the gradients of weights
                one = 2 * links.gather_s(size)
                forward.add("tp", exposed * 2 * one)
                backward.add("tp", exposed * 3 * one)
            else:
                forward.add("tp", exposed * 2 * links.all_reduce_s(size))
                backward.add("tp", exposed * 2 * links.all_reduce_s(size))
        if plan.cp > 1:
            self._exchange_context(forward, backward)
        if has_experts and plan.ep > 1:
            self._exchange_tokens(forward, backward)

    def _exchange_context(self, forward: Parts, backward: Parts) -> None:
        """Keys and values meet: a ring hides behind attention, the others do not (Liu et al. 2023)."""
        local, plan = self.local, self.local.plan
        links = self.links("cp")
        if plan.context == "ulysses":  # queries, keys, values and output change from tokens to heads
            widths = local.query_width + local.key_width + local.value_width + local.output_width
            one = links.exchange_s(2 * local.tokens * widths)
            forward.add("cp", one)
            backward.add("cp", one)
            return
        both = 2 * local.tokens * (local.key_width + local.value_width) * plan.cp
        one = links.gather_s(both)
        hidden = plan.context == "ring"
        forward.add("cp", max(0.0, one - hidden * forward.get("attention", 0.0)))
        backward.add("cp", max(0.0, 2 * one - hidden * backward.get("attention", 0.0)))

    def _exchange_tokens(self, forward: Parts, backward: Parts) -> None:
        """Tokens go to their experts and back; those of expert_tp meet and part again."""
        local, plan = self.local, self.local.plan
        experts = local.model.experts
        assert experts is not None
        sent = 2 * local.tokens * experts.top_k * local.model.d_model * experts.imbalance / plan.tp
        one = 2 * self.links("ep").exchange_s(sent)
        if local.expert_tp > 1:
            one += 2 * self.links("expert_tp").gather_s(sent * local.expert_tp)
        forward.add("ep", one)
        backward.add("ep", one)

    def _gather_weights(self, kind: LayerKind, forward: Parts, backward: Parts) -> None:
        """ZeRO-3: both passes gather weights a layer ahead; gradients are scattered (Zhao et al. 2023)."""
        weights = layer_weights(self.local, kind)
        gather = self._spread_s(weights.dense, weights.experts, 2.0)
        scatter = self._spread_s(weights.dense, weights.experts, float(self.local.framework.gradient_bytes))
        forward.add("dp", max(0.0, gather - forward.total_s))
        backward.add("dp", max(0.0, gather + scatter - backward.total_s))

    def _spread_s(self, dense: float, experts: float, bytes_each: float) -> float:
        seconds = self.links("dp_cp").gather_s(bytes_each * dense)
        return seconds + (self.links("expert_dp").gather_s(bytes_each * experts) if experts else 0.0)

    def _end(self, kernels: Pass, *, is_head: bool) -> Passes:
        """Embedding or head: over tp, features or logits are summed."""
        local, plan = self.local, self.local.plan
        forward, backward = kernels_s(kernels.forward, self.rates), kernels_s(kernels.backward, self.rates)
        if plan.tp > 1:
            links = self.links("tp")
            size = 2 * local.tokens * local.model.d_model
            meet = links.gather_s(size) if plan.sequence_parallel else links.all_reduce_s(size)
            if is_head:  # maximum and sum of every token's exponentials
                forward.add("tp", 2 * links.all_reduce_s(4 * local.tokens))
                backward.add("tp", meet)
            else:
                forward.add("tp", meet)
        return Passes(forward, backward, backward.get("matrix_products", 0.0) / 2)
