"""The space of plans that the model of a step prices: what a sweep over each type of a cluster has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.base.errors import InputError
from dse.base.numbers import powers_of_two
from dse.inputs.accelerators import Accelerator, TierSpec, cluster
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.strategies.columns import Strategies
from dse.inputs.systems import SystemSpec
from dse.inputs.systems.clusters import derived_fields
from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.steps import StepInputs, StepType, layer_way, way_words
from dse.prediction.steps.native_inputs import cluster_record, model_record
from dse.prediction.steps.plan import Plan
from dse.prediction.steps.strategies import Refusals, plans_of

LATENCY_US = (2.0, 5.0)
"""Of a message inside a node and between nodes, where a cluster says no more: those of the DGX systems."""

StrategiesOf = Callable[[ModelSpec, SystemSpec], Sequence[Strategy]]
"""Returns the strategies that a sweep of a model over a system has."""


@dataclass(frozen=True)
class StepSpace:
    """A model and what is known of each type; `tiers` are those of types whose links a system describes."""

    model: ModelSpec
    accelerators: Mapping[str, str]
    tiers: Mapping[str, tuple[TierSpec, ...]]
    strategies_of: StrategiesOf
    memory_reserve: float = 0.0
    max_tp: int = 128
    max_batch: int = 128
    is_uniform: bool = False

    def on(self, mixed: MixedCluster, order: Sequence[str]) -> StepInputs:
        """Return the inputs for a cluster, types in an order.

        Raises:
            InputError: a type has no accelerator.
        """
        types = [self._type(mixed, name) for name in order]
        between = [
            0.0 if one == other else _between_gbps(mixed, one, other) for one in order for other in order
        ]
        return StepInputs(
            json.dumps(model_record(self.model)),
            self.model.num_layers,
            tuple(types),
            tuple(between),
            self.max_batch,
            self.is_uniform,
        )

    def _type(self, mixed: MixedCluster, name: str) -> StepType:
        if name not in self.accelerators:
            raise InputError(f"type {name} has no accelerator; costs=model needs one of conf/accelerator")
        found = Accelerator.named(self.accelerators[name], f"accelerator of {name}")
        hosts = [host for host in mixed.hosts if host.type == name]
        node_gpus = min(host.gpus for host in hosts)
        nodes = sum(host.gpus // node_gpus for host in hosts)
        tiers = self.tiers.get(name) or _tiers(mixed, hosts, node_gpus)
        links = cluster(name, found, nodes, node_gpus, tiers)
        powers = powers_of_two(nodes)
        # Degrees of a sweep divide all its GPUs: of five nodes it has few. Plans may leave one of them idle.
        counts = [nodes] if nodes == powers[-1] else [nodes, powers[-1]]
        plans = self._plans(name, found, counts, node_gpus, tiers)
        if not plans:  # a small batch and a few layers cannot fill so many GPUs
            plans = self._plans(name, found, powers[:-1], node_gpus, tiers)
        # Fewer GPUs may run one stage in a way that all of them cannot, where no dp of all divides the batch.
        partial = [nodes for nodes in counts if plans and self.model.batch_size % (nodes * node_gpus)]
        filling = [plan for nodes in partial for plan in self._filling(name, found, nodes, node_gpus, tiers)]
        alone = Plan(precision=found.format_16bit, framework=found.framework)  # which no sweep has
        # Enough nodes for stages that lie on several.
        wide = cluster(name, found, max(nodes, 2), node_gpus, tiers)
        return StepType(
            name,
            json.dumps(cluster_record(wide if nodes == 1 else links)),
            nodes * node_gpus,
            node_gpus,
            mixed.memory_gib[name] * 2**30 * (1 - self.memory_reserve),
            _ways([*plans, *filling], alone),
            tuple(plans),
        )

    def _plans(
        self, name: str, found: Accelerator, counts: Sequence[int], node_gpus: int, tiers: Sequence[TierSpec]
    ) -> list[Plan]:
        """The plans of sweeps over so many nodes."""
        return [plan for nodes in counts for plan in self._swept(name, found, nodes, node_gpus, tiers)]

    def _filling(
        self, name: str, found: Accelerator, nodes: int, node_gpus: int, tiers: Sequence[TierSpec]
    ) -> list[Plan]:
        """The plans of a sweep with a batch that every number of replicas divides."""
        space = replace(self, model=replace(self.model, batch_size=nodes * node_gpus))
        return space._swept(name, found, nodes, node_gpus, tiers)

    def _swept(
        self, name: str, found: Accelerator, nodes: int, node_gpus: int, tiers: Sequence[TierSpec]
    ) -> list[Plan]:
        if nodes * node_gpus < 2:
            return []
        system = SystemSpec(
            name=name,
            accelerator=found,
            nodes=nodes,
            npus_per_node=node_gpus,
            tiers=tuple(tiers),
            **derived_fields(name, found, nodes, node_gpus, tiers),
        )
        strategies = Strategies.of(self.strategies_of(self.model, system))
        plans = plans_of(self.model, strategies, Refusals(len(strategies)))
        tp, micro_batch = plans.column("tp"), plans.column("micro_batch")
        small = (tp <= self.max_tp) & (micro_batch <= self.max_batch)
        return list(plans.take(np.broadcast_to(small, len(plans.strategies))).each())


def _ways(plans: Sequence[Plan], single: Plan) -> tuple[str, ...]:
    """The ways of layers that plans have, whole or sharded updates besides."""
    found: dict[str, None] = {}
    for way in dict.fromkeys(map(layer_way, plans or (single,))):
        found.setdefault(way_words(way))
        if not way.weight_sharded:
            for zero in (0, 2):
                found.setdefault(way_words(replace(way, zero=zero)))
    return tuple(found)


def _tiers(mixed: MixedCluster, hosts: Sequence[Host], node_gpus: int) -> list[TierSpec]:
    """The links of the hosts of a type: the slowest of any, and between islands what joins these."""
    inter_gbps = min(host.inter_gbps for host in hosts)
    islands = {host.island: 0 for host in hosts}
    if len(islands) > 1 and mixed.between_islands_gbps is not None:
        inter_gbps = min(inter_gbps, mixed.between_islands_gbps)
    return [
        TierSpec("node", LATENCY_US[0], bandwidth_gbps=min(host.intra_gbps for host in hosts)),
        TierSpec("nodes", LATENCY_US[1], bandwidth_gbps=inter_gbps / node_gpus),
    ]


def _between_gbps(mixed: MixedCluster, one: str, other: str) -> float:
    """The rate of a GPU to one of another type; 0: as much as out of its node."""
    islands = [{host.island for host in mixed.hosts if host.type == name} for name in (one, other)]
    if (islands[0] == islands[1] and len(islands[0]) == 1) or mixed.between_islands_gbps is None:
        return 0.0
    return mixed.between_islands_gbps / min(host.gpus for host in mixed.hosts if host.type == one)
