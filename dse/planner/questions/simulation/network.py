"""The links of a mixed cluster as a graph for the engine: switches in hosts, uplinks, islands.

A GPU has a link of `intra_gbps` each way to the switch of its host. To other hosts it has links of
`inter_gbps` to and from the host's uplink, which has `inter_gbps` too, so that the GPUs of a host share it;
uplinks meet in a switch of their island, and islands behind links of `between_islands_gbps`. Links have no
latency: clusters say none. Not expressed: switches that block inside a host or island, several rails, and
protocols; a link carries one message at a time, others wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.base.cancellation import current_cancellation
from dse.base.errors import InputError
from dse.native import _engine
from dse.planner.problem.problem import PlanProblem
from dse.planner.problem.ranks import Ranks
from dse.simulation.workloads.nodes import TRACE_TFLOPS

RING_DELAY_NS = 10
"""What a step of a ring takes besides its message: constant in the engine."""

Edge = tuple[int, int, float, float]
_NO_REDUCTION_GBPS = 1e30  # adding up gradients takes no time compared with sending them


def engine_network(
    ranks: Ranks, between_islands_gbps: float | None, *, is_contended: bool
) -> _engine.SystemConfig:
    """Return the system on which traces of a plan run.

    Without contention a message takes the time of the slowest link on its way, whatever else is under way;
    with it, messages wait for links, and pass them by cut-through: alone, they take the same.
    """
    config = _engine.SystemConfig()
    npus = npus_of(ranks)
    edges = list(_edges(ranks, npus, between_islands_gbps))
    devices = 1 + max(max(source, destination) for source, destination, *_ in edges)
    config.add_graph(npus, devices, edges, [], current_cancellation())
    config.congestion_aware = is_contended
    config.cut_through = True
    config.set_algorithms(["ring"], ["ring"], ["ring"], ["ring"])
    config.peak_tflops = TRACE_TFLOPS
    config.memory_bandwidth_gbps = _NO_REDUCTION_GBPS
    config.endpoint_delay_ns = RING_DELAY_NS
    config.active_chunks_per_dimension = 1
    config.preferred_dataset_splits = 1
    config.roofline = True
    config.track_memory = False
    return config


def require_network(problem: PlanProblem, asked: str) -> None:
    """Raise InputError where the cluster is too large for a simulation, which all plans of it are then.

    `asked` is the key that wants one.
    """
    try:
        engine_network(
            Ranks(problem.cluster, problem.type_order),
            problem.cluster.between_islands_gbps,
            is_contended=True,
        )
    except InputError as why:
        gpus = problem.cluster.gpus
        raise InputError(f"{asked}: plans of {gpus:,} GPUs cannot be simulated: {why}") from None


def npus_of(ranks: Ranks) -> int:
    """NPUs of the network: a second one that is idle where there is one GPU."""
    return max(2, len(ranks.host_of))


def _edges(ranks: Ranks, npus: int, between_islands_gbps: float | None) -> Iterator[Edge]:
    hosts = ranks.hosts
    switch = npus
    out, into = switch + len(hosts), switch + 2 * len(hosts)
    islands = sorted({host.island for host in hosts})
    core = {island: into + len(hosts) + number for number, island in enumerate(islands)}
    host_of = list(ranks.host_of)
    host_of += [host_of[0]] * (npus - len(host_of))  # a network has two NPUs at least
    for rank, number in enumerate(host_of):
        host = hosts[number]
        yield rank, switch + number, 0.0, host.intra_gbps
        yield switch + number, rank, 0.0, host.intra_gbps
        if len(hosts) > 1:
            yield rank, out + number, 0.0, host.inter_gbps
            yield into + number, rank, 0.0, host.inter_gbps
    if len(hosts) > 1:
        for number, host in enumerate(hosts):
            yield out + number, core[host.island], 0.0, host.inter_gbps
            yield core[host.island], into + number, 0.0, host.inter_gbps
    if len(islands) > 1:
        top = into + len(hosts) + len(islands)
        between = between_islands_gbps or max(host.inter_gbps for host in hosts)
        for island in islands:
            yield core[island], top, 0.0, between
            yield top, core[island], 0.0, between
