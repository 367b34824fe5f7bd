"""Ranks dealt out type by type: the type and the host of every rank, and the links that ranks share."""

from __future__ import annotations

from collections.abc import Iterable

from dse.planner.problem.cluster import Host, MixedCluster


class Ranks:
    """The GPUs of a cluster in the order of a type sequence; hosts of a type keep their order.

    `types` and `host_of` have an entry per rank; `hosts` are regrouped in the order of the sequence.
    """

    def __init__(self, cluster: MixedCluster, sequence: tuple[str, ...]) -> None:
        self.hosts: list[Host] = [host for type_ in sequence for host in cluster.hosts if host.type == type_]
        self.types: list[str] = [host.type for host in self.hosts for _ in range(host.gpus)]
        self.host_of: list[int] = [i for i, host in enumerate(self.hosts) for _ in range(host.gpus)]

    def types_in(self, start: int, gpus: int) -> list[str]:
        """Return the types among consecutive ranks, each once, in their order."""
        return list(dict.fromkeys(self.types[start : start + gpus]))

    def hosts_in(self, ranks: Iterable[int]) -> list[int]:
        """Return the hosts that ranks touch, each once, in their order."""
        return list(dict.fromkeys(self.host_of[rank] for rank in ranks))
