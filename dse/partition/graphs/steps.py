"""A training step of a partitioned model: what stages compute and send, and its time by the engine."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dse.base.errors import InputError
from dse.base.trace_nodes import TraceNode, trace_of
from dse.inputs.strategies.schedules import schedule_named
from dse.inputs.strategies.schedules.schedule import (
    BACKWARD,
    FORWARD,
    WEIGHT,
    Operation,
    replicated_operations,
)
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.inputs.systems.validation import END_OF_TIME_NS
from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.problem import Devices
from dse.prediction.steps.traces import traced_system
from dse.simulation.simulators import NativeSimulator, Recording
from dse.simulation.workloads.nodes import TRACE_TFLOPS, compute_node, message_node
from dse.simulation.workloads.traces import ImportedWorkload, workload_of

_FREE_GBPS = 10**9
_LEAST_GBPS = 1e-9
_MOST_PASSES = 1 << 18


@dataclass(frozen=True)
class StageGraph:
    """Stages in the order of the forward pass, each with its nanoseconds a micro-batch and what it sends.

    `messages[a, b]` are the bytes of a micro-batch from stage a to a later stage b, each tensor once; their
    gradients come back. `backward` is the time of a backward pass over that of the forward pass. `after_ns`
    is what each stage does when all micro-batches have passed, such as its optimizer. `device_of` a stage.
    `overhead_ns` is what a framework takes for each pass of a stage, forward or backward, besides. `homes`
    are the devices of the replicas of each stage, which take micro-batches in turn; without them there is
    one.
    """

    forward_ns: tuple[float, ...]
    messages: Mapping[tuple[int, int], float]
    backward: float = 2.0
    after_ns: tuple[float, ...] = ()
    device_of: tuple[int, ...] = field(default=())
    overhead_ns: tuple[float, ...] = ()
    homes: tuple[tuple[int, ...], ...] = ()

    @property
    def count(self) -> int:
        """How many stages there are."""
        return len(self.forward_ns)

    def overhead_of(self, stage: int) -> float:
        """The time that a framework takes for a pass of a stage besides its work, in ns."""
        return self.overhead_ns[stage] if self.overhead_ns else 0.0

    def replicas_of(self, stage: int) -> int:
        """How many replicas a stage has."""
        return len(self.homes[stage]) if self.homes else 1


def stage_order(edges: Sequence[tuple[int, int]], labels: Sequence[int]) -> list[int]:
    """Return the devices that have nodes so that every edge goes to the same or a later one.

    Of several orders the one with the lowest numbers first.

    Raises:
        InputError: devices wait for each other, so that there is no such order; names two.
    """
    used = sorted(set(labels))
    before: dict[int, set[int]] = {device: set() for device in used}
    for tail, head in edges:
        if labels[tail] != labels[head]:
            before[labels[head]].add(labels[tail])
    after: dict[int, list[int]] = {device: [] for device in used}
    for device, others in before.items():
        for other in others:
            after[other].append(device)
    waits = {device: len(others) for device, others in before.items()}
    ready = [device for device in used if not waits[device]]
    order: list[int] = []
    while len(order) < len(used):
        if not ready:
            stuck = next(device for device in used if waits[device])
            other = min(before[stuck] - set(order))
            raise InputError(
                f"devices {stuck} and {other} wait for each other, so that no pipeline can run this; "
                "use objective=pipeline_bottleneck"
            )
        order.append(heapq.heappop(ready))
        for device in after[order[-1]]:
            waits[device] -= 1
            if not waits[device]:
                heapq.heappush(ready, device)
    return order


def stage_graph(
    graph: ModelGraph,
    labels: Sequence[int],
    speeds: Sequence[float] = (),
    backward: float = 2.0,
    *,
    relay: bool = False,
) -> StageGraph:
    """Return the stages of a partition of a graph whose weights are nanoseconds.

    With `relay` a tensor goes from stage to stage up to the last one that uses it.

    Raises:
        InputError: as `stage_order`.
    """
    order = stage_order(graph.edges, labels)
    stage_of = {device: stage for stage, device in enumerate(order)}
    times = [0.0] * len(order)
    for weight, label in zip(graph.node_weights, labels, strict=True):
        times[stage_of[label]] += weight / (speeds[label] if speeds else 1.0)
    hops: dict[tuple[int, int, int], float] = {}
    for tensor, tail, head, size in cut_tensors(graph, labels):
        first, last = stage_of[tail], stage_of[head]
        for one in range(first, last) if relay else ():
            hops[tensor, one, one + 1] = size
        if not relay:
            hops[tensor, first, last] = size
    messages: dict[tuple[int, int], float] = {}
    for (_, first, last), size in hops.items():
        messages[first, last] = messages.get((first, last), 0.0) + size
    return StageGraph(tuple(times), messages, backward, device_of=tuple(order))


def cut_tensors(graph: ModelGraph, labels: Sequence[int]) -> list[tuple[int, int, int, float]]:
    """Return (tensor, from device, to device, bytes) of all tensors between devices, once a receiving device.

    Without `edge_bytes` a tensor has 0 bytes.
    """
    found: dict[tuple[int, int, int], float] = {}
    for number, (tail, head) in enumerate(graph.edges):
        if labels[tail] == labels[head]:
            continue
        tensor = graph.edge_tensors[number] if graph.edge_tensors else number
        size = graph.edge_bytes[number] if graph.edge_bytes else 0.0
        key = (tensor, labels[tail], labels[head])
        found[key] = max(found.get(key, 0.0), size)
    return [(*key, size) for key, size in found.items()]


def closed_form_ns(stages: StageGraph, micro_batches: int) -> float:
    """Return (m - 1) max + sum over stages of a forward and backward pass: no communication.

    A replica of a stage that has r passes m / r micro-batches.
    """
    times = [
        time * (1 + stages.backward) + 2 * stages.overhead_of(stage)
        for stage, time in enumerate(stages.forward_ns)
    ]
    longest = max((micro_batches / stages.replicas_of(stage) - 1) * time for stage, time in enumerate(times))
    return longest + sum(times) + max(stages.after_ns, default=0.0)


def simulate_step(
    stages: StageGraph,
    schedule: str,
    micro_batches: int,
    network: SystemSpec | Devices,
    processes: int | None = None,
) -> Recording:
    """Run a step on our engine, with every message on its links; return what happened when.

    Ranks are devices; of a system all NPUs, of which those without a stage compute for 1 ns. `processes` is
    their number if stages go round and round them (interleaved), by default one for each replica of a stage.

    Raises:
        InputError: a schedule that does not exist or does not have such stages; a single stage.
    """
    ranks, programs = step_programs(stages, schedule, micro_batches, network, processes)
    workload = workload_of([trace_of(program) for program in programs], {})
    if isinstance(network, SystemSpec):
        return NativeSimulator().record(workload, traced_system(network))
    with tempfile.TemporaryDirectory() as folder:
        return _on_links(workload, network, ranks, Path(folder))


def step_programs(
    stages: StageGraph,
    schedule: str,
    micro_batches: int,
    network: SystemSpec | Devices,
    processes: int | None = None,
) -> tuple[list[int], list[list[TraceNode]]]:
    """Return the device of each rank, and its passes and messages in the order that it runs.

    Raises:
        InputError: as `simulate_step`.
    """
    count = processes or stages.count
    chunks, rest = divmod(stages.count, count)
    kind = schedule_named(schedule)
    if micro_batches < 1:
        raise InputError(f"microbatches is {micro_batches}; it must be at least 1")
    problem = f"{stages.count} stages are no multiple of {count} processes" if rest else ""
    problem = problem or kind.problem(count, chunks, micro_batches)
    if problem or kind.is_v_shaped:
        raise InputError(f"schedule={schedule}: {problem or 'its stages go down and up; this runs 1f1b'}")
    if count < 2:
        raise InputError("all nodes are on one device, so that there is no pipeline to run")
    if micro_batches * stages.count > _MOST_PASSES:
        raise InputError(
            f"microbatches is {micro_batches}; with {stages.count} stages a simulated step has at most "
            f"{_MOST_PASSES // stages.count}"
        )
    for figure, unit in (
        (closed_form_ns(stages, micro_batches), "ns"),
        (max(stages.messages.values(), default=0.0), "bytes in a message"),
    ):
        if figure >= END_OF_TIME_NS:
            raise InputError(
                f"a step has {figure:.3g} {unit}; a simulated one has fewer than {END_OF_TIME_NS}; are "
                "weights in ns, and edges in bytes?"
            )
    homes = stages.homes or tuple((device,) for device in (stages.device_of or range(count))[:count])
    devices = [device for home in homes for device in home]
    total = network.npus if isinstance(network, SystemSpec) else len(devices)
    if not isinstance(network, SystemSpec):
        numbers = iter(range(total))
        homes = tuple(tuple(next(numbers) for _ in home) for home in homes)
    orders = replicated_operations(kind, [len(home) for home in homes], chunks, micro_batches)
    programs = [[compute_node(0, 1, ())]] * total
    for place, home in enumerate(homes):
        for rank, order in zip(home, orders[place], strict=True):
            programs[rank] = _program(stages, place, order, homes, splits=kind.splits_backward)
    return devices, programs


def _program(
    stages: StageGraph,
    place: int,
    order: Sequence[Operation],
    homes: Sequence[Sequence[int]],
    *,
    splits: bool,
) -> list[TraceNode]:
    """Return the nodes of a process: its passes one after the other, each after what it waits for."""
    count = len(homes)
    nodes: list[TraceNode] = []
    chain: tuple[int, ...] = ()
    own = [stage for stage in range(stages.count) if stage % count == place]
    for kind, chunk, batch in order:
        stage = chunk * count + place
        forward = stages.forward_ns[stage]
        both = stages.backward * forward
        ns = {FORWARD: forward, BACKWARD: both / 2 if splits else both, WEIGHT: both / 2}[kind]
        if kind != WEIGHT:
            ns += stages.overhead_of(stage)
        waits = list(chain)
        if kind != WEIGHT:
            for other, size in _peers(stages, stage, incoming=kind == FORWARD):
                if other % count != place:
                    tag = _tag(stages, kind, other, stage, batch)
                    waits.append(len(nodes))
                    peer = _home_of(homes[other % count], batch)
                    name = f"{kind} {batch} from stage {other}"
                    nodes.append(message_node(len(nodes), name, "receive", tag, peer, size, ()))
        nodes.append(compute_node(len(nodes), max(1, round(ns)), waits, f"{kind} {batch} of stage {stage}"))
        chain = (len(nodes) - 1,)
        if kind != WEIGHT:
            for other, size in _peers(stages, stage, incoming=kind != FORWARD):
                if other % count != place:
                    tag = _tag(stages, kind, stage, other, batch)
                    peer = _home_of(homes[other % count], batch)
                    name = f"{kind} {batch} to stage {other}"
                    nodes.append(message_node(len(nodes), name, "send", tag, peer, size, chain))
    after = sum(stages.after_ns[stage] for stage in own) if stages.after_ns else 0.0
    if after:
        nodes.append(compute_node(len(nodes), max(1, round(after)), chain, "optimizer"))
    return nodes


def _home_of(home: Sequence[int], micro_batch: int) -> int:
    return home[micro_batch % len(home)]


def _peers(stages: StageGraph, stage: int, *, incoming: bool) -> list[tuple[int, int]]:
    """Stages before (or after) a stage that share tensors with it, nearest first, and bytes of at least 1."""
    found = [
        (pair[0] if incoming else pair[1], max(1, round(size)))
        for pair, size in stages.messages.items()
        if pair[1 if incoming else 0] == stage
    ]
    return sorted(found, key=lambda peer: abs(peer[0] - stage))


def _tag(stages: StageGraph, kind: str, source: int, destination: int, batch: int) -> int:
    return ((batch * 2 + (kind == BACKWARD)) * stages.count + source) * stages.count + destination


def _on_links(workload: ImportedWorkload, devices: Devices, ranks: Sequence[int], folder: Path) -> Recording:
    lines = [str(len(ranks)), "Src,Dest,Latency (ns),Bandwidth (GB/s)"]
    for a, source in enumerate(ranks):
        for b, destination in enumerate(ranks):
            if a != b:
                latency = devices.latency_ns[source][destination] if devices.latency_ns else 0.0
                each = devices.ns_per_byte[source][destination] if devices.ns_per_byte else 0.0
                speed = max(1 / each, _LEAST_GBPS) if each > 1 / _FREE_GBPS else _FREE_GBPS
                lines.append(f"{a},{b},{latency:.6f},{speed:.9f}")
    file = folder / "links.csv"
    file.write_text("\n".join([*lines, ""]))
    system = SystemSpec(
        name="measured",
        network=(Dimension("Graph", len(ranks), 1.0, 0.0, file=str(file)),),
        collectives=CollectiveAlgorithms(),
        peak_tflops=TRACE_TFLOPS,
        memory_bandwidth_gbps=1.0,
        network_model="congestion_aware",
        issue_order="safe",
    )
    return NativeSimulator().record(workload, traced_system(system))
