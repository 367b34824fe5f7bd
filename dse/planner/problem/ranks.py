"""The GPU that each rank of a plan is: ranks are dealt out type by type, in the order of the hosts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from dse.planner.problem.cluster import MixedCluster
from dse.planner.problem.plan import ClusterPlan


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
    spans: list[list[Span]] = [[] for _ in plan.groups]
    stage, left = 0, plan.groups[0]
    for number in host_order(cluster, plan.types):
        first = 0
        while first < cluster.hosts[number].gpus and stage < len(plan.groups):
            taken = min(left, cluster.hosts[number].gpus - first)
            spans[stage].append(Span(number, first, taken))
            first += taken
            left -= taken
            if not left:
                stage += 1
                left = plan.groups[stage] if stage < len(plan.groups) else 0
    return spans


def stage_types(cluster: MixedCluster, plan: ClusterPlan) -> list[dict[str, int]]:
    """Return, for each stage, how many GPUs of which type it has, in rank order."""
    found = []
    for spans in stage_spans(cluster, plan):
        own = {}
        for type_, group in groupby(spans, key=lambda span: cluster.hosts[span.host].type):
            own[type_] = sum(span.gpus for span in group)
        found.append(own)
    return found


def first_ranks(plan: ClusterPlan) -> list[int]:
    """Return the first rank of each stage."""
    found, rank = [], 0
    for gpus in plan.groups:
        found.append(rank)
        rank += gpus
    return found
