"""The GPU that each rank of a plan is: ranks are dealt out type by type, in the order of the hosts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple

from dse.planner.problem.cluster import Host, MixedCluster
from dse.planner.problem.problem import ClusterPlan


class Span(NamedTuple):
    """Consecutive ranks on one host: its number in the cluster, the first GPU there, and how many."""

    host: int
    first: int
    gpus: int


def host_order(cluster: MixedCluster, types: Sequence[str]) -> list[int]:
    """Return the numbers of the hosts in the order in which ranks fill them.

    Hosts of a type that `types` lacks have no ranks.
    """
    return [number for type_ in types for number, host in enumerate(cluster.hosts) if host.type == type_]


def stage_spans(cluster: MixedCluster, plan: ClusterPlan) -> list[list[Span]]:
    """Return, for each stage, the GPUs of its ranks in rank order."""
    hosts = host_order(cluster, plan.types)
    firsts = [0, *accumulate(_ranks(cluster, number, plan) for number in hosts)]
    found = []
    for start, gpus in zip(first_ranks(plan), plan.groups, strict=True):
        spans, rank, end = [], start, min(start + gpus, firsts[-1])
        while rank < end:
            place = bisect_right(firsts, rank) - 1
            taken = min(end, firsts[place + 1]) - rank
            spans.append(Span(hosts[place], rank - firsts[place], taken))
            rank += taken
        found.append(spans)
    return found


def _ranks(cluster: MixedCluster, number: int, plan: ClusterPlan) -> int:
    """How many ranks a host has; under cost=step as many as equal nodes of its type, the smallest, have."""
    host = cluster.hosts[number]
    least = min(other.gpus for other in cluster.hosts if other.type == host.type)
    return host.gpus - host.gpus % least if plan.ways else host.gpus


def stage_types(cluster: MixedCluster, plan: ClusterPlan) -> list[dict[str, int]]:
    """Return, for each stage, how many GPUs of which type it has, in rank order."""
    found = []
    for spans in stage_spans(cluster, plan):
        own = {}
        for type_, group in groupby(spans, key=lambda span: cluster.hosts[span.host].type):
            own[type_] = sum(span.gpus for span in group)
        found.append(own)
    return found


def types_in_order(cluster: MixedCluster, plan: ClusterPlan) -> list[str]:
    """Return the types of the GPUs of the stages, in the order of the stages, each once.

    The ranks of a plan of predicted steps follow the types of the cluster, whatever the order of its stages.
    """
    return list(dict.fromkeys(type_ for own in stage_types(cluster, plan) for type_ in own))


def first_ranks(plan: ClusterPlan) -> list[int]:
    """Return the first rank of each stage."""
    return list(plan.starts) or [0, *accumulate(plan.groups[:-1])]


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
