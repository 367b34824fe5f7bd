"""Partition problems for the contract of partitioners: small ones of every shape."""

from __future__ import annotations

import random

from dse.partition.graphs.graph import ModelGraph
from dse.partition.problem.devices import Devices
from dse.partition.problem.problem import PartitionProblem

Edges = list[tuple[int, int]]


def random_problem(seed: int, objective: str, plain: bool = False) -> PartitionProblem:
    """Return a problem of up to 7 nodes and 3 devices; a plain one has no pins, groups and memory."""
    draw = random.Random(seed)
    nodes, devices = draw.randint(1, 7), draw.randint(1, 3)
    if objective == "sharding_cost":
        devices = min(nodes, devices)
    edges = _edges(draw, nodes)
    sizes = tuple(draw.choice([0, 1, 2.5, 4]) for _ in edges) if draw.random() < 0.8 else ()
    graph = ModelGraph(_weights(draw, nodes), tuple(edges), sizes)
    if draw.random() < 0.5:
        graph = _with_tensors(draw, graph)
    if plain:
        return PartitionProblem(graph, Devices(devices, _matrix(draw, devices)), objective, imbalance=0.6)
    speeds = tuple(draw.choice([0.5, 1, 2]) for _ in range(devices)) if draw.random() < 0.6 else ()
    memory, capacity = _memory(draw, nodes, devices)
    graph = ModelGraph(graph.node_weights, graph.edges, graph.edge_bytes, graph.edge_tensors, memory)
    links = (_matrix(draw, devices), _matrix(draw, devices), _matrix(draw, devices))
    return PartitionProblem(
        graph,
        Devices(devices, *links, speeds, capacity),
        objective,
        {draw.randrange(nodes): draw.randrange(devices)} if draw.random() < 0.3 else {},
        (tuple(draw.sample(range(nodes), 2)),) if nodes > 1 and draw.random() < 0.3 else (),
        draw.choice([0.3, 0.6, 1.0]),
        draw.random() < 0.5,
    )


def _edges(draw: random.Random, nodes: int) -> Edges:
    kind = draw.choice(["chain", "tree", "dag", "dag"])
    if kind == "chain":
        edges = [(v, v + 1) for v in range(nodes - 1)]
    elif kind == "tree":
        edges = [(draw.randrange(v), v) for v in range(1, nodes)]
    else:
        edges = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if draw.random() < 0.4]
    if edges and draw.random() < 0.2:
        edges.append(draw.choice(edges))
    names = draw.sample(range(nodes), nodes)
    return [(names[u], names[v]) for u, v in edges]


def _weights(draw: random.Random, nodes: int) -> tuple[float, ...]:
    if draw.random() < 0.3:
        return (draw.choice([1.0, 2.0]),) * nodes
    return tuple(draw.choice([0, 1, 2, 3, 5, round(draw.uniform(0, 6), 2)]) for _ in range(nodes))


def _matrix(draw: random.Random, devices: int) -> tuple[tuple[float, ...], ...]:
    kind = draw.choice(["none", "equal", "any", "any"])
    if kind == "none":
        return ()
    return tuple(
        tuple(
            0.0 if a == b else (1.5 if kind == "equal" else draw.choice([0.25, 0.5, 1, 2, 4, 7])) for b in row
        )
        for a, row in enumerate([range(devices)] * devices)
    )


def _memory(draw: random.Random, nodes: int, devices: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if draw.random() < 0.5:
        return (), ()
    return (
        tuple(draw.choice([1, 2, 3]) for _ in range(nodes)),
        tuple(draw.choice([4, 6, 9, 12]) for _ in range(devices)),
    )


def _with_tensors(draw: random.Random, graph: ModelGraph) -> ModelGraph:
    """Let some edges of a source carry the same tensor."""
    tensors: list[int] = []
    sizes = list(graph.edge_bytes)
    for edge, (u, _) in enumerate(graph.edges):
        same = [other for other in range(edge) if graph.edges[other][0] == u]
        other = draw.choice(same) if same and draw.random() < 0.6 else edge
        tensors.append(100 + edge if other == edge else tensors[other])
        if sizes:
            sizes[edge] = sizes[other]
    return ModelGraph(graph.node_weights, graph.edges, tuple(sizes), tuple(tensors))
