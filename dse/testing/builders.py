"""Small hand-made traces, workloads, systems and models for the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.native import _engine
from dse.simulation.simulators import NativeSimulator, RankMetrics
from dse.simulation.workloads import GeneratedWorkload, Workload, workload_of
from dse.studies.points import DesignPoint, Scenario

Node = dict[str, Any]

# Numbers of Chakra: node types, collective types, kinds of attribute values.
INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = range(8)
ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 5, 6, 7
NONE, INT32, INT64, UINT64, BOOL, BOOLS, STRING, STRINGS = 0, 7, 9, 13, 27, 28, 29, 30

# conf/model/tiny.yaml, literally: the tests must notice if it changes.
TINY = ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4)


def _node(
    node_id: int,
    kind: int,
    attributes: Mapping[str, tuple[int, Any]],
    *,
    after: Iterable[int] = (),
    control: Iterable[int] = (),
    micros: int = 0,
    reads: Mapping[str, int] | None = None,
    writes: Mapping[str, int] | None = None,
) -> Node:
    tensors = {
        name: (STRINGS, [text for key, size in pairs.items() for text in (key, f"{size}.0")])
        if pairs
        else (NONE, None)
        for name, pairs in (("inputs", reads), ("outputs", writes))
    }
    return {
        "id": node_id,
        "name": f"node{node_id}",
        "type": kind,
        "duration_micros": micros,
        "ctrl_deps": list(control),
        "data_deps": list(after),
        "attributes": {**tensors, **attributes},
    }


def comp(node_id: int, ops: int = 10**9, size: int = 10**8, *, cpu: bool = False, **common: Any) -> Node:
    """Return a compute node; `common`: after, control, micros, reads, writes.

    With the roofline and the default system below it takes 33333 ns.
    """
    attributes = {"num_ops": (INT64, ops), "tensor_size": (UINT64, size)}
    if cpu:
        attributes["is_cpu_op"] = (BOOL, True)
    return _node(node_id, COMP, attributes, **common)


def coll(
    node_id: int,
    kind: int,
    size: int,
    *,
    group: str | None = None,
    dims: Sequence[bool] | None = None,
    **common: Any,
) -> Node:
    attributes: dict[str, tuple[int, Any]] = {"comm_size": (INT64, size), "comm_type": (INT64, kind)}
    if group is not None:
        attributes["pg_name"] = (STRING, group)
    if dims is not None:
        attributes["involve_dims"] = (BOOLS, list(dims))
    return _node(node_id, COLL, attributes, **common)


def send(node_id: int, to: int, size: int, tag: int = 0, **common: Any) -> Node:
    attributes = {"comm_size": (INT64, size), "comm_tag": (INT32, tag), "comm_dst": (INT32, to)}
    return _node(node_id, SEND, attributes, **common)


def recv(node_id: int, source: int, size: int, tag: int = 0, **common: Any) -> Node:
    attributes = {"comm_size": (INT64, size), "comm_tag": (INT32, tag), "comm_src": (INT32, source)}
    return _node(node_id, RECV, attributes, **common)


def load(node_id: int, size: int, **common: Any) -> Node:
    return _node(node_id, MEM_LOAD, {"tensor_size": (UINT64, size)}, **common)


def store(node_id: int, size: int, **common: Any) -> Node:
    return _node(node_id, MEM_STORE, {"tensor_size": (UINT64, size)}, **common)


def invalid(node_id: int, **common: Any) -> Node:
    return _node(node_id, INVALID, {}, **common)


def encode(nodes: Sequence[Node]) -> bytes:
    """Return the bytes of a trace file."""
    return _engine.trace_file(list(nodes)).encode()


def workload(*ranks: Sequence[Node], groups: dict[str, list[int]] | None = None) -> Workload:
    """Return a workload with one trace per rank."""
    return workload_of([encode(nodes) for nodes in ranks], groups)


def parse(work: GeneratedWorkload) -> list[list[Node]]:
    """Return the nodes of every rank, from the bytes of its trace file."""
    ranks = range(work.rank_count)
    return [_engine.parse_trace(work.trace_bytes(rank), f"rank {rank}").nodes() for rank in ranks]


def attribute(node: Node, name: str) -> Any:
    return node["attributes"][name][1]


def dimension(text: str) -> Dimension:
    """Return the dimension that a text such as "Ring 4 @100/50" (GB/s / ns) describes."""
    topology, npus, speed = text.split()
    bandwidth, latency = speed.removeprefix("@").split("/")
    return Dimension(topology, int(npus), float(bandwidth), float(latency))


def system(network: str = "FullyConnected 2 @100/50", algorithms: str = "", **changes: Any) -> SystemSpec:
    """Return a system: dimensions separated by commas, algorithms per dimension separated by blanks.

    Unlike the product's defaults, a collective is one chunk, and memory is not tracked.
    """
    dimensions = tuple(dimension(text) for text in network.split(","))
    names = tuple(algorithms.split()) or ("ring",) * len(dimensions)
    spec = SystemSpec(
        name="test",
        network=dimensions,
        collectives=CollectiveAlgorithms(names, names, names, names),
        peak_tflops=900,
        memory_bandwidth_gbps=3000,
        preferred_dataset_splits=1,
        active_chunks_per_dimension=1,
        track_local_memory=False,
    )
    return replace(spec, **changes)


def run(work: Workload, spec: SystemSpec) -> list[RankMetrics]:
    """Simulate to the end and return the figures of every rank."""
    outcome = NativeSimulator().simulate(work, spec)
    assert outcome.status == "ok", outcome.reason
    ranks = [outcome.rank(rank) for rank in range(outcome.rank_count)]
    return [metrics for metrics in ranks if metrics is not None]


def finish(work: Workload, spec: SystemSpec) -> list[int]:
    """Simulate to the end and return the finish time of every rank."""
    return [metrics.finish_ns for metrics in run(work, spec)]


# One ring of 16: the tiny model deadlocks on it with dp 4 and tp 4, and with no other strategy of the tests.
RING16 = system(
    "Ring 16 @50/500",
    memory_bandwidth_gbps=1600,
    preferred_dataset_splits=10,
    active_chunks_per_dimension=4,
    track_local_memory=True,
)


def design_point(strategy: Strategy, **scenario: Any) -> DesignPoint:
    """The strategy on a ring of 16 with the tiny model; keywords are fields of `Scenario`."""
    return DesignPoint(Scenario(**{"study": "test", "model": TINY, "system": RING16, **scenario}), strategy)
