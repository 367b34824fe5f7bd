"""Whether a problem has any partition: which device is too small for what."""

from __future__ import annotations

from collections.abc import Sequence

from dse.partition.graphs.merged import Merged
from dse.partition.problem.constraints import (
    OF_WEIGHT,
    InfeasiblePartition,
    fits,
    node_name,
    overload,
    weight_limit,
)
from dse.partition.problem.problem import PartitionProblem


def require_capacity(merged: Merged) -> None:
    """Raise InfeasiblePartition if limits cannot be kept for a reason that needs no search."""
    problem = merged.problem
    if problem.devices.memory_bytes and problem.graph.memory_bytes:
        needs = _group_sums(merged, problem.graph.memory_bytes)
        _require_room(problem, needs, problem.devices.memory_bytes, "bytes of memory")
    if problem.objective == "process_mapping":
        limit = [weight_limit(problem)] * problem.devices.count
        _require_room(problem, _group_sums(merged, problem.graph.node_weights), limit, OF_WEIGHT)
    if problem.objective == "sharding_cost" and problem.graph.nodes < problem.devices.count:
        device = problem.graph.nodes
        raise InfeasiblePartition(
            f"device {device} needs 1 node, it has 0: nodes that stay together leave "
            f"{problem.graph.nodes} pieces for {problem.devices.count} devices",
            device,
            1,
            0,
        )


def _group_sums(merged: Merged, values: Sequence[float]) -> list[float]:
    """Return the sum of each group at its leader, 0 at others."""
    total = [0.0] * len(values)
    for value, leader in zip(values, merged.leader, strict=True):
        total[leader] += value
    return total


def _require_room(
    problem: PartitionProblem, needs: Sequence[float], capacity: Sequence[float], what: str
) -> None:
    largest = max(range(len(capacity)), key=lambda device: capacity[device])
    pinned = [0.0] * len(capacity)
    for node, need in enumerate(needs):
        device = problem.pinned.get(node, largest)
        if not fits(need, capacity[device]):
            message = overload(problem, device, what, need, capacity[device])
            where = "is pinned there" if node in problem.pinned else "fits on no device"
            raise InfeasiblePartition(
                f"{message}: {node_name(problem, node)} {where}", device, need, capacity[device]
            )
        if node in problem.pinned:
            pinned[device] += need
    for device, need in enumerate(pinned):
        if not fits(need, capacity[device]):
            message = overload(problem, device, what, need, capacity[device])
            raise InfeasiblePartition(f"{message}: nodes pinned there", device, need, capacity[device])
    if not fits(sum(needs), sum(capacity)):
        share = capacity[largest] / sum(capacity) * sum(needs)
        message = overload(problem, largest, what, share, capacity[largest])
        raise InfeasiblePartition(
            f"{message}: all nodes need {sum(needs):.10g}, all devices have {sum(capacity):.10g}",
            largest,
            share,
            capacity[largest],
        )


def infeasible(merged: Merged, proven: bool) -> InfeasiblePartition:
    """Return the error of a search that found no partition: the device that first overflows in a packing.

    Nodes are packed by falling need, each where most room is left.
    """
    problem = merged.problem
    end = "no partition fits" if proven else "none that fits was found within the limits of the search"
    for what, values, capacity in _limits(problem):
        full = _first_overflow(problem, _group_sums(merged, values), capacity)
        if full:
            device, need = full
            message = overload(problem, device, what, need, capacity[device])
            return InfeasiblePartition(f"{message}: {end}", device, need, capacity[device])
    if problem.pinned:
        return InfeasiblePartition(
            f"{end}: the pinned nodes, the order of stages and the limits of devices contradict each other",
            next(iter(problem.pinned.values())),
        )
    return InfeasiblePartition(f"{end}: the limits of devices and the order of stages contradict each other")


def _limits(problem: PartitionProblem) -> list[tuple[str, Sequence[float], Sequence[float]]]:
    limits: list[tuple[str, Sequence[float], Sequence[float]]] = []
    if problem.devices.memory_bytes and problem.graph.memory_bytes:
        limits.append(("bytes of memory", problem.graph.memory_bytes, problem.devices.memory_bytes))
    if problem.objective == "process_mapping":
        weights = problem.graph.node_weights
        limits.append((OF_WEIGHT, weights, [weight_limit(problem)] * problem.devices.count))
    return limits


def _first_overflow(
    problem: PartitionProblem, needs: Sequence[float], capacity: Sequence[float]
) -> tuple[int, float] | None:
    room = list(capacity)
    for node in sorted(range(len(needs)), key=lambda v: (v not in problem.pinned, -needs[v])):
        device = problem.pinned.get(node, max(range(len(room)), key=lambda d: room[d]))
        room[device] -= needs[node]
        need = capacity[device] - room[device]
        if not fits(need, capacity[device]):
            return device, need
    return None
