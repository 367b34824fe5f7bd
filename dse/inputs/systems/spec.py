"""The specification of a training system: what a simulator needs to know besides the workload."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from dse.inputs.accelerators import Cluster, cluster
from dse.inputs.systems.clusters import derived_fields, fields_of_cluster
from dse.inputs.systems.fields import DEFAULT_MEMORY_BYTES, FOLLOWING, SystemFields, figures_of
from dse.inputs.systems.validation import validate


@dataclass(frozen=True)
class SystemSpec(SystemFields):
    """A system of NPUs, equal or of `npu_types`; the names of ASTRA-sim's keys with units.

    `memory_bandwidth_gbps` is in *memory* GB/s, unlike the network's (see `Dimension`). It and `peak_tflops`
    may be 0 only with the roofline model off. `issue_order` says how a rank chooses among ready communication
    nodes: reference (the lowest id, as in ASTRA-sim), safe (an order that cannot deadlock), or None, which
    means what the fidelity of the model says (docs/simulator.md). `inert` keeps keys of system.json that
    ASTRA-sim ignores, and `omitted_keys` the keys that the files left to their defaults, so that files
    survive a round trip; neither changes a result.

    `custom_collectives` are those of system.json; only files have them.

    With `npu_types`, `peak_tflops` is the mean over all NPUs, and `memory_bandwidth_gbps` the least, at which
    collectives add up (`dse.inputs.systems.fields`); compute runs at what its own NPU has, times its
    derating.

    A cluster also has its `accelerator`, `nodes`, `npus_per_node` and `tiers`; network, peak performance and
    memory bandwidth follow from these (`dse.inputs.systems.clusters`), and `replaced` keeps them so.
    `group_algorithms` are those of collectives where steps are predicted; the engine has `collectives`.

    Raises:
        InvalidSystem: an InputError that names the key as a user writes it, such as
            `system.network.0.bandwidth_gbps`, what was got and what is allowed.
    """

    SOURCES: ClassVar[tuple[str, ...]] = ("accelerator", "nodes", "npus_per_node", "tiers", "npu_types")
    """Fields from which others follow: changes of these come first."""

    def __post_init__(self) -> None:
        """Check every field."""
        validate(self)

    @cached_property
    def cluster(self) -> Cluster | None:
        """The accelerators behind their tiers; None for a system that says nothing of them."""
        if self.accelerator is None:
            return None
        assert self.nodes is not None
        assert self.npus_per_node is not None
        return cluster(
            self.name, self.accelerator, self.nodes, self.npus_per_node, self.tiers, self.group_algorithms
        )

    @property
    def memory_bytes(self) -> int:
        """The memory that tensors of an NPU can have.

        What its accelerator leaves them, the largest of the types, or `DEFAULT_MEMORY_BYTES`.
        """
        if self.npu_types:
            return max(each.memory_bytes for each in self.npu_types)
        return DEFAULT_MEMORY_BYTES if self.accelerator is None else self.accelerator.usable_memory_bytes

    def replaced(self, **fields: Any) -> SystemSpec:
        """Return the system with other values of fields, and of what follows from those of a cluster.

        Algorithms of collectives follow unless they were chosen.

        Raises:
            InputError: the system is not valid.
        """
        if types := fields.get("npu_types"):
            fields = {**dict(zip(FOLLOWING, figures_of(types), strict=True)), **fields}
        of_cluster = self.SOURCES[:4]
        sources = {name: fields.get(name, getattr(self, name)) for name in of_cluster}
        if fields.keys() & set(of_cluster) and None not in sources.values():
            derived = derived_fields(fields.get("name", self.name), **sources)
            if self.collectives != fields_of_cluster(self).get("collectives"):
                del derived["collectives"]
            fields = {**derived, **fields}
        return dataclasses.replace(self, **fields)

    @property
    def scaled_endpoint_delay_ns(self) -> int:
        """The endpoint delay that applies: `endpoint_delay_ns` x `injection_scale`, truncated."""
        return int(self.endpoint_delay_ns * self.injection_scale)
