"""The result of a partition for every device, as rows, text, JSON and Parquet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dse.base.lazy import pa, pq
from dse.base.texts import aligned, counted
from dse.base.units import format_bytes, format_count, format_duration_ns
from dse.partition.graphs.steps import cut_tensors
from dse.partition.objectives import stage_times
from dse.partition.problem.constraints import device_name, sums
from dse.partition.problem.problem import Partition, PartitionProblem


@dataclass(frozen=True)
class DeviceRow:
    """A device: nodes, weight (and compute and receive time where weights are ns), memory, bytes cut.

    Where a stage has `replicas` it stands for their devices: times are shared by them, memory is of each.
    """

    device: int
    name: str
    nodes: int
    weight: float
    compute_ns: float | None
    receive_ns: float | None
    memory_bytes: float
    memory_limit_bytes: float | None
    sent_bytes: float
    received_bytes: float
    replicas: int = 1


class Traffic(NamedTuple):
    """Tensors that one device sends to another, and their bytes; each counts once for a receiver."""

    sender: int
    receiver: int
    tensors: int
    size_bytes: float


def traffic(problem: PartitionProblem, labels: Sequence[int]) -> list[Traffic]:
    """Return what each device sends to each other one, the most bytes first, without pairs of no tensors."""
    found: dict[tuple[int, int], tuple[int, float]] = {}
    for _, tail, head, size in cut_tensors(problem.graph, labels):
        tensors, size_bytes = found.get((tail, head), (0, 0.0))
        found[tail, head] = (tensors + 1, size_bytes + size)
    rows = [Traffic(*ends, *figures) for ends, figures in found.items()]
    return sorted(rows, key=lambda row: (-row.size_bytes, -row.tensors, row.sender, row.receiver))


def device_rows(problem: PartitionProblem, labels: Sequence[int], *, is_time: bool) -> list[DeviceRow]:
    """Return a row for each device; a tensor that goes to a device is counted once."""
    count = problem.devices.count
    weights = sums(problem.graph.node_weights, labels, count)
    memory = sums(problem.graph.memory_bytes, labels, count)
    sent, received = [0.0] * count, [0.0] * count
    for sender, receiver, _, size_bytes in traffic(problem, labels):
        sent[sender] += size_bytes
        received[receiver] += size_bytes
    compute, receive = stage_times(problem, labels) if is_time else (None, None)
    limits = problem.devices.memory_bytes
    return [
        DeviceRow(
            device,
            device_name(problem, device),
            sum(label == device for label in labels),
            weights[device],
            None if compute is None else compute[device],
            None if receive is None else receive[device],
            memory[device],
            limits[device] if limits else None,
            sent[device],
            received[device],
        )
        for device in range(count)
    ]


def to_json(problem: PartitionProblem, found: Partition) -> dict[str, Any]:
    """Return a partition as plain data; `gap` is (cost - bound) / cost."""
    return {
        "objective": problem.objective,
        "cost": found.cost,
        "bound": found.bound,
        "gap": gap(found),
        "optimal": found.optimal,
        "labels": list(found.labels),
        "partitioner": found.partitioner,
        "seconds": found.seconds,
        "notes": list(found.notes),
    }


def gap(found: Partition) -> float | None:
    """Return by how much the bound may be missed, as a share of the cost; None without a bound."""
    if found.bound is None:
        return None
    return 0.0 if found.cost <= found.bound else (found.cost - found.bound) / found.cost


def text_of(problem: PartitionProblem, found: Partition, rows: Sequence[DeviceRow]) -> str:
    """Return the answer for people: cost and bound, then a line for each device."""
    cuts = sum(found.labels[a] != found.labels[b] for a, b in problem.graph.edges)
    lines = [
        f"{problem.objective} {cost_text(problem, found.cost)}, {_quality(problem, found)}",
        f"{counted(problem.graph.nodes, 'node')}, {counted(len(problem.graph.edges), 'edge')} "
        f"({cuts} cut) on {counted(problem.devices.count, 'device')}; {found.partitioner}, "
        f"{found.seconds:.3f} s",
        "",
    ]
    header = ["device", "nodes", "weight", "compute", "receives for", "memory", "sent", "received"]
    table = [header, *([*_cells(row)] for row in rows)]
    if len({row.replicas for row in rows}) > 1:
        counts = ["replicas", *(str(row.replicas) for row in rows)]
        table = [[*line, count] for line, count in zip(table, counts, strict=True)]
    keep = [n for n in range(len(table[0])) if n < 3 or any(line[n] != "–" for line in table[1:])]
    return "\n".join([*lines, *aligned([[line[n] for n in keep] for line in table])])


def comparison_text(problem: PartitionProblem, found: Sequence[Partition]) -> str:
    """Return a line for each of several partitions, the least cost first."""
    ordered = sorted(found, key=lambda one: one.cost)
    best = ordered[0].cost
    rows = [
        [
            one.partitioner,
            f"{cost_text(problem, one.cost):>12}",
            f"{f'+{100 * (one.cost / best - 1):.2f} %' if best and one.cost > best else '':>10}",
            f"{one.seconds:9.3f} s",
            _quality(problem, one),
        ]
        for one in ordered
    ]
    return "\n".join(aligned(rows, left=(0, 4)))


def cost_text(problem: PartitionProblem, cost: float) -> str:
    """Return a cost with its unit: times have one."""
    return (
        format_duration_ns(cost)
        if problem.objective in ("pipeline_bottleneck", "latency")
        else f"{cost:.10g}"
    )


def nodes_parquet(problem: PartitionProblem, found: Sequence[Partition]) -> bytes:
    """Return a row for each node: number, name, weight, memory, and its device in each partition."""
    graph = problem.graph
    columns: dict[str, Any] = {
        "node": range(graph.nodes),
        "name": graph.names or [""] * graph.nodes,
        "weight": graph.node_weights,
        "memory_bytes": graph.memory_bytes or [0.0] * graph.nodes,
    }
    for number, one in enumerate(found):
        columns["device" if number == 0 else f"device_{number}_{one.partitioner}"] = one.labels
    file = io.BytesIO()
    pq.write_table(pa.table({name: list(column) for name, column in columns.items()}), file)
    return file.getvalue()


def devices_parquet(rows: Sequence[DeviceRow]) -> bytes:
    """Return the rows of devices as a Parquet file."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([asdict(row) for row in rows]), file)
    return file.getvalue()


def _quality(problem: PartitionProblem, found: Partition) -> str:
    if found.optimal:
        return "proven optimal"
    share = gap(found)
    if found.bound is None or share is None:
        return "no bound is known"
    bound = cost_text(problem, found.bound)
    return f"bound {bound}: at most {100 * share:.2f} % of the cost can be saved"


def _cells(row: DeviceRow) -> list[str]:
    limit = "" if row.memory_limit_bytes is None else f" of {format_bytes(row.memory_limit_bytes)}"
    return [
        row.name.removeprefix("device "),
        str(row.nodes),
        format_count(row.weight),
        "–" if row.compute_ns is None else format_duration_ns(row.compute_ns),
        "–" if not row.receive_ns else format_duration_ns(row.receive_ns),
        f"{format_bytes(row.memory_bytes)}{limit}" if row.memory_bytes or limit else "–",
        format_bytes(row.sent_bytes) if row.sent_bytes else "–",
        format_bytes(row.received_bytes) if row.received_bytes else "–",
    ]
