"""The passes of each stage in seconds: kernels of its layers and the collectives inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dse.inputs.accelerators.cluster import Cluster
from dse.inputs.models.matrices import LayerKind, blocks_of
from tests.references.prediction.activations import kept_bytes
from tests.references.prediction.blocks import embedding, head, layer
from tests.references.prediction.collectives import Links
from tests.references.prediction.dispatch import Dispatcher
from tests.references.prediction.kernels import Pass
from tests.references.prediction.layout import Chunk
from tests.references.prediction.placement import Group
from tests.references.prediction.plans import offloaded_layers, recomputed
from tests.references.prediction.sharded_sizes import Local
from tests.references.prediction.timing import Parts, Rates, kernels_s
from tests.references.prediction.weights import Weights, layer_weights

HOST_SHARE = 0.8
"""Large copies reach this share of the line rate of the link to the host, as an assumption."""

CONTENDED = 0.16
"""Share of its time that a collective of weights or gradients takes from the passes that hide it.

Kernels that run meanwhile take 18.9 % longer on average (Lee et al. 2025, arXiv:2507.03114): 0.189 / 1.189.
"""


def hidden_s(seconds: float, behind: Parts) -> float:
    """Return by how much a collective that hides behind a pass makes it longer."""
    return max(CONTENDED * seconds, seconds - behind.total_s)


@dataclass(frozen=True)
class Passes:
    """Seconds of one micro-batch by part: forward, backward with recomputation.

    `weight_s` of the latter are gradients of weights, and what of scattering them (ZeRO-3) nothing hides.
    """

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
        """The rates that kernels reach."""
        framework, accelerator = self.local.framework, self.cluster.accelerator
        is_late = "fp8" in accelerator.peak_tflops
        return Rates.of(
            accelerator,
            launch_us=0.0 if self.local.plan.graphs == "full" else framework.launch_us,
            attention_factor=framework.attention_factor_8bit if is_late else framework.attention_factor,
            elementwise=framework.elementwise,
        )

    def links(self, axis: str) -> Links:
        """The links of the groups of an axis."""
        if axis not in self._links:
            group = self.groups[axis]
            if axis.startswith("expert") and self.local.model.experts is None:
                group = replace(group, size=1)
            self._links[axis] = Links.of(group, self.cluster, self.cluster.algorithms.of(axis))
        return self._links[axis]

    @cached_property
    def _links(self) -> dict[str, Links]:
        return {}

    @property
    def host_bytes_per_s(self) -> float:
        """The rate of copies to the memory of the host."""
        return self.cluster.accelerator.host_bandwidth_gbps * 1e9 * HOST_SHARE

    def chunk(self, chunk: Chunk) -> Passes:
        """Time of one micro-batch on a chunk."""
        forward, backward, weight_s = Parts(), Parts(), 0.0
        for kind, count in chunk.layers:
            if count == 0:
                continue
            repeated = chunk.repeated / max(1, chunk.count)  # an end may have no layer
            for is_recomputed, share in ((False, 1 - repeated), (True, repeated)):
                if share:
                    one = self._layer(kind, is_recomputed)
                    forward = forward.plus(one.forward, count * share)
                    backward = backward.plus(one.backward, count * share)
                    weight_s += count * share * one.weight_s
        further = self.local.model.prediction_layers  # these embed tokens and predict some, too
        rows = chunk.has_embedding + further * chunk.has_head
        for is_head, times in ((False, rows), (True, (1 + further) * chunk.has_head)):
            if times:
                own = self._end(is_head=is_head)
                forward, backward = forward.plus(own.forward, times), backward.plus(own.backward, times)
                weight_s += times * own.weight_s
        return Passes(forward, backward, weight_s)

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
        forward = kernels_s(kernels.forward, self.rates, self._meeting_s)
        backward = kernels_s(reversed(kernels.backward), self.rates, self._meeting_s)
        if plan.cp > 1:
            self._exchange_context(kind, forward, backward)
        if local.has_experts(kind):
            self._exchange_tokens(forward, backward)
        for one in (forward, backward):  # the CPU launches an eager pass no faster
            waiting = kernels.host_launches * self.rates.floor_s - one.total_s
            if waiting > 0:
                one.add("launches", waiting)
        again = self._again(kind, kernels, forward) if is_recomputed else Parts()
        backward = backward.plus(again)
        if plan.zero_stage == 3:
            self._gather_weights(layer_weights(local, kind), forward, backward)
        if offloaded_layers(plan):
            most = local.model.num_layers / plan.pp
            kept = kept_bytes(local, kind, is_recomputed=is_recomputed)
            moved = min(1.0, offloaded_layers(plan) / most) * kept / self.host_bytes_per_s
            for one in (forward, backward):
                one.add("memory_bound", max(0.0, moved - one.total_s))
        products = backward.get("matrix_products", 0.0) - again.get("matrix_products", 0.0)
        return Passes(forward, backward, self._of_weights * products + backward.get("dp", 0.0))

    @property
    def _of_weights(self) -> float:
        """Share of the products of a backward pass that are gradients of weights; frozen ones have none."""
        return 0.5 if self.local.model.lora is None else 0.0

    def _again(self, kind: LayerKind, kernels: Pass, forward: Parts) -> Parts:
        """The part of a layer's forward pass that the backward pass repeats, with its exchange of tokens.

        JAX's checkpoint leaves out what no gradient needs: the last product of a dense layer, and the sum
        behind it. Norms behind blocks need it, and so do the weights of what experts return. An adapter adds
        products.
        """
        local, modules = self.local, recomputed(self.local.plan)
        if modules is None:
            model, is_jax = local.model, local.framework.memory.selective == "elementwise"
            if not is_jax or model.post_norms or model.lora is not None or local.has_experts(kind):
                return forward
            units = [kernel.unit for kernel in kernels.forward]
            last = len(units) - 1 - units[::-1].index("products")
            found = kernels_s(kernels.forward[:last], self.rates, self._meeting_s)
            found.add("cp", forward.get("cp", 0.0))
            return found
        found = kernels_s(kernels.repeated(modules), self.rates)
        if "moe" in modules:
            found.add("ep", forward.get("ep", 0.0))
        return found

    @cached_property
    def _meeting_s(self) -> float:
        """The time that nothing hides of a collective over tp before or after a block of a layer."""
        local, plan = self.local, self.local.plan
        if plan.tp == 1:
            return 0.0
        size, links = 2 * local.tokens * local.model.d_model, self.links("tp")
        exposed = 1 - (local.framework.tp_overlap if plan.overlap_tp else 0.0)
        return exposed * (links.gather_s(size) if plan.sequence_parallel else links.all_reduce_s(size))

    def _exchange_context(self, kind: LayerKind, forward: Parts, backward: Parts) -> None:
        """Keys and values meet: a ring hides behind attention, the others do not (Liu et al. 2023).

        All that goes into a state-space mixer or comes out changes from tokens to heads, and back.
        """
        local, plan = self.local, self.local.plan
        mixer, links = blocks_of(local.model, kind).mixer, self.links("cp")
        if mixer is None:
            return
        if mixer == "state_space" or plan.context == "ulysses":
            widths = sum(
                local.state_widths
                if mixer == "state_space"
                else (local.query_width, local.key_width, local.value_width, local.output_width)
            )
            one = links.exchange_s(2 * local.tokens * widths)
            forward.add("cp", one)
            backward.add("cp", one)
            return
        both = 2 * local.tokens * (local.key_width + local.value_width) * plan.cp
        hidden = plan.context == "ring"
        one = links.pass_around_s(both) if hidden else links.gather_s(both)
        forward.add("cp", max(0.0, one - hidden * forward.get("attention", 0.0)))
        backward.add("cp", max(0.0, 2 * one - hidden * backward.get("attention", 0.0)))

    def _exchange_tokens(self, forward: Parts, backward: Parts) -> None:
        """Tokens go to their experts and back; those of expert_tp meet and part again.

        With `overlap_ep` another micro-batch computes meanwhile, as long as the pass of this one.

        Without sequence parallelism the ranks of tensor parallelism have the same tokens: with ep 1 nothing
        moves, and what experts return is summed as in a dense layer.
        """
        local, plan = self.local, self.local.plan
        experts = local.model.experts
        assert experts is not None
        brought = 2 * local.tokens * local.model.d_model * local.expert_load / plan.tp
        sent = experts.top_k * brought
        if plan.dispatcher == "deduplicated":
            one = 2 * Dispatcher.of(self.groups["ep"], self.cluster).one_way_s(brought, experts)
        else:
            one = 2 * self.links("ep").exchange_s(sent)
        if local.expert_tp > 1 and (plan.ep > 1 or plan.sequence_parallel):
            one += 2 * self.links("expert_tp").gather_s(sent * local.expert_tp)
        for parts in (forward, backward):
            parts.add("ep", max(0.0, one - parts.total_s) if plan.overlap_ep else one)

    def _gather_weights(self, weights: Weights, forward: Parts, backward: Parts) -> None:
        """ZeRO-3: both passes gather weights a layer ahead; gradients are scattered (Zhao et al. 2023)."""
        gather = self._spread_s(weights, 2.0)
        scatter = self._reduce_s(weights.trained)
        forward.add("dp", hidden_s(gather, forward))
        backward.add("dp", hidden_s(gather + scatter, backward))

    def _reduce_s(self, weights: Weights) -> float:
        """Scatter gradients; with copies of the weights, their shards are summed over these too."""
        size = float(self.local.framework.gradient_bytes)
        seconds = self._spread_s(weights, size)
        if self.local.plan.shard_ranks:
            shard = weights.dense / self.groups["dp_cp"].size
            seconds += self.links("replicas").all_reduce_s(size * shard)
        return seconds

    def _spread_s(self, weights: Weights, bytes_each: float) -> float:
        """Gather weights, or scatter their gradients, over all who have the same."""
        dense = self.links("dp_cp").gather_s(bytes_each * weights.dense)
        return dense + self.links("expert_dp").gather_s(bytes_each * weights.experts)

    def _end(self, *, is_head: bool) -> Passes:
        """Embedding or head: over tp, features or logits are summed."""
        local, plan = self.local, self.local.plan
        kernels = head(local) if is_head else embedding(local)
        forward, backward = (
            kernels_s(kernels.forward, self.rates),
            kernels_s(reversed(kernels.backward), self.rates),
        )
        if plan.tp > 1:
            links = self.links("tp")
            size = 2 * local.tokens * local.model.d_model
            if is_head:  # maximum and sum of every token's exponentials
                forward.add("tp", 2 * links.all_reduce_s(4 * local.tokens))
            if plan.sequence_parallel:  # the head's inputs meet, and again for the gradient of its weights
                forward.add("tp", links.gather_s(size))
                backward.add("tp", (1 + is_head) * links.gather_s(size))
            else:
                (backward if is_head else forward).add("tp", links.all_reduce_s(size))
        if plan.zero_stage == 3:  # the table stays between the passes
            rows = local.model.output_dim if is_head else local.model.input_dim
            table = Weights(rows * local.model.d_model / plan.tp, 0.0)
            forward.add("dp", hidden_s(self._spread_s(table, 2.0), forward))
            if local.model.lora is None:
                backward.add("dp", hidden_s(self._reduce_s(table), backward))
        products = self._of_weights * backward.get("matrix_products", 0.0)
        return Passes(forward, backward, products + backward.get("dp", 0.0))
