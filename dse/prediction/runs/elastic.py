"""A run that goes on with fewer data-parallel replicas until a spare or a repaired node comes."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from dse.inputs.accelerators import Cluster
from dse.prediction.runs.repairs import Spares
from dse.prediction.steps.plan import Plan


def elastic_spares(
    waiting: Spares,
    cluster: Cluster,
    plan: Plan,
    reconfigure_s: float,
    speeds: tuple[float, ...] | None = None,
) -> Spares:
    """Return the spares of a job that shrinks instead of waiting.

    Without `speeds` it keeps what each replica does, so that its speed is the share of replicas left; the
    nodes left form as many as they can.

    It has no speeds where the loss of a node leaves no replica.
    """
    if speeds is None:
        speeds = replica_speeds(plan.dp, cluster)
    return replace(waiting, speeds=speeds, reconfigure_s=reconfigure_s)


def replica_speeds(dp: int, cluster: Cluster) -> tuple[float, ...]:
    """Return the share of replicas that 1, 2, … lost nodes leave, as long as one is left.

    >>> from dse.prediction.frameworks.checks.clusters import cluster_of_name
    >>> replica_speeds(4, cluster_of_name("dgx_h100", 64, []))
    (0.75, 0.75, 0.5, 0.5, 0.25, 0.25)
    """
    npus, node = cluster.npus, cluster.npus_per_node
    left = ((npus - lost * node) * dp // npus for lost in range(1, -(-npus // node)))
    return tuple(count / dp for count in takewhile(lambda count: count > 0, left))
