"""The result of every source of graphs: operators with their work, weights and memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dse.base.errors import InputError, excerpt
from dse.partition.graphs.graph import LARGEST, ModelGraph
from dse.partition.problem.constraints import find_cycle
from dse.partition.problem.problem import Devices

WEIGHTS = ("time", "parameters", "flops", "memory")
OPTIMIZERS = {"none": 1, "sgd": 2, "adam": 4}
"""Copies of the parameters that training holds: the parameters, their gradients, two moments of Adam."""
_ALLOWED = f"it must be from 0 to {LARGEST:g}"
_MOST_OF_CYCLE, _MOST_OF_NAME = 4, 30  # nodes of a cycle that a message names, and characters of a name


@dataclass(frozen=True)
class Operator:
    """One node of a source: its forward pass on one micro-batch.

    `touched_bytes` are read and written, `activation_bytes` is what it makes (kept for the backward pass).
    `ns` is a measured time. `module` is the part of the model that it belongs to, its parts parted by dots.
    `identity` is what its file calls it (empty: its number).
    """

    name: str
    module: str = ""
    flops: float = 0.0
    touched_bytes: float = 0.0
    parameters: float = 0.0
    parameter_bytes: float = 0.0
    activation_bytes: float = 0.0
    ns: float | None = None
    identity: str = ""


@dataclass(frozen=True)
class Source:
    """A graph of operators, or of nodes whose weights are given.

    `weights` and `memory_bytes` are given ones (None if they follow from the operators). `devices` are those
    of the file. `backward` is the time of the backward pass over that of the forward pass. `members` of a
    node are the operators that it was made of; `together` are nodes that can only be on one device.
    """

    name: str
    operators: tuple[Operator, ...]
    edges: tuple[tuple[int, int], ...]
    edge_bytes: tuple[float, ...] = ()
    edge_tensors: tuple[int, ...] = ()
    weights: tuple[float, ...] | None = None
    memory_bytes: tuple[float, ...] | None = None
    devices: Devices | None = None
    backward: float = 2.0
    members: tuple[tuple[str, ...], ...] = ()
    together: tuple[tuple[int, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no model graph.

        Raises:
            InputError: no nodes, an unknown node, a node linked to itself, a cycle, a wrong number.
        """
        if not self.operators:
            raise InputError(f"{self.name}: the graph has no nodes; it must have at least one")
        nodes = len(self.operators)
        for number, edge in enumerate(self.edges):
            if not (0 <= edge[0] < nodes and 0 <= edge[1] < nodes):
                raise InputError(f"{self.name}: edge {number} is {list(edge)}; nodes are 0 to {nodes - 1}")
        for key, values in (("node_weights", self.weights), ("memory_bytes", self.memory_bytes)):
            for number, value in enumerate(values or ()):
                if not 0 <= value <= LARGEST:
                    raise InputError(f"{self.name}: {key}[{number}] is {value}; {_ALLOWED}")
        for number, value in enumerate(self.edge_bytes):
            if not 0 <= value <= LARGEST:
                raise InputError(f"{self.name}: edge_bytes[{number}] is {value}; {_ALLOWED}")
        if cycle := find_cycle(nodes, self.edges):
            raise InputError(f"{self.name}: {self._cycle_text(cycle)}; a model graph must have none")

    def _cycle_text(self, cycle: Sequence[int]) -> str:
        shown = [self._node_text(node) for node in cycle[:_MOST_OF_CYCLE]]
        more = len(cycle) - len(shown)
        rest = [f"{more} more nodes"] if more else []
        return f"{' → '.join([*shown, *rest, shown[0]])} is a cycle"

    def _node_text(self, node: int) -> str:
        identity = excerpt(self.operators[node].identity or node, _MOST_OF_NAME)
        name = excerpt(self.operators[node].name, _MOST_OF_NAME)
        return identity if name in ("", identity) else f"{identity} ({name})"


@dataclass(frozen=True)
class Rates:
    """Rates of a device of speed 1: operations and bytes a nanosecond (0 bytes: as many as need be).

    A node takes max(operations / rate, bytes / bandwidth), the roofline (Williams et al. 2009).
    """

    flops_per_ns: float
    bytes_per_ns: float = 0.0

    def ns(self, operator: Operator) -> float:
        """Return the time of an operator."""
        if operator.ns is not None:
            return operator.ns
        memory = operator.touched_bytes / self.bytes_per_ns if self.bytes_per_ns else 0.0
        return max(operator.flops / self.flops_per_ns, memory)


def training_memory(source: Source, optimizer: str, in_flight: int) -> tuple[float, ...]:
    """Return the bytes of each node: copies of its parameters, and activations of micro-batches in flight."""
    if source.memory_bytes is not None:
        return source.memory_bytes
    copies = OPTIMIZERS[optimizer]
    return tuple(
        copies * operator.parameter_bytes + in_flight * operator.activation_bytes
        for operator in source.operators
    )


def model_graph(source: Source, weight: str, rates: Rates, memory: Sequence[float]) -> ModelGraph:
    """Return the graph that is partitioned; `weight` is one of `WEIGHTS`, without effect on given weights."""
    weights = source.weights
    if weights is None:
        of = {
            "time": rates.ns,
            "parameters": lambda operator: operator.parameters,
            "flops": lambda operator: operator.flops,
        }
        weights = tuple(memory) if weight == "memory" else tuple(map(of[weight], source.operators))
    return ModelGraph(
        weights,
        source.edges,
        source.edge_bytes,
        source.edge_tensors,
        tuple(memory) if any(memory) else (),
        tuple(operator.name for operator in source.operators),
    )


def by_module(source: Source, depth: int | None = None) -> Source:
    """Return the graph of modules: operators of one module become one node, and nodes of a cycle too.

    `depth` counts the parts of a module's name that tell modules apart (None means all of them).

    Raises:
        InputError: weights are given, so that there is nothing to add up.
    """
    if source.weights is not None:
        raise InputError(f"{source.name}: its weights are given; nodes=modules is for graphs of operators")
    labels: dict[str, int] = {}
    of = []
    for operator in source.operators:
        parts = operator.module.split(".") if operator.module else [operator.name]
        of.append(labels.setdefault(".".join(parts[:depth]), len(labels)))
    of = _condensed(of, source.edges)
    groups: dict[int, list[int]] = {}
    for node, group in enumerate(of):
        groups.setdefault(group, []).append(node)
    number = {group: position for position, group in enumerate(groups)}
    operators = tuple(_sum([source.operators[node] for node in nodes], depth) for nodes in groups.values())
    kept = [n for n, (a, b) in enumerate(source.edges) if of[a] != of[b]]
    members = source.members or tuple((operator.name,) for operator in source.operators)
    return replace(
        source,
        operators=operators,
        edges=tuple((number[of[source.edges[n][0]]], number[of[source.edges[n][1]]]) for n in kept),
        edge_bytes=tuple(source.edge_bytes[n] for n in kept) if source.edge_bytes else (),
        edge_tensors=tuple(source.edge_tensors[n] for n in kept) if source.edge_tensors else (),
        memory_bytes=None,
        members=tuple(tuple(name for node in nodes for name in members[node]) for nodes in groups.values()),
        together=tuple(
            tuple(sorted({number[of[node]] for node in group}))
            for group in source.together
            if len({of[node] for node in group}) > 1
        ),
    )


def _sum(operators: Sequence[Operator], depth: int | None) -> Operator:
    first = operators[0]
    name = ".".join(first.module.split(".")[:depth]) if first.module else first.name
    times = [operator.ns for operator in operators]
    return Operator(
        name,
        name,
        sum(operator.flops for operator in operators),
        sum(operator.touched_bytes for operator in operators),
        sum(operator.parameters for operator in operators),
        sum(operator.parameter_bytes for operator in operators),
        sum(operator.activation_bytes for operator in operators),
        None if None in times else sum(time for time in times if time is not None),
    )


def _condensed(labels: Sequence[int], edges: Iterable[tuple[int, int]]) -> list[int]:
    """Give groups that reach each other one label, so that no cycle is left (Tarjan 1972)."""
    count = max(labels) + 1
    following: list[set[int]] = [set() for _ in range(count)]
    for tail, head in edges:
        if labels[tail] != labels[head]:
            following[labels[tail]].add(labels[head])
    index, low, component = [-1] * count, [0] * count, [-1] * count
    stack: list[int] = []
    clock = 0
    for root in range(count):
        if index[root] >= 0:
            continue
        path = [(root, iter(following[root]))]
        index[root] = low[root] = clock
        clock += 1
        stack.append(root)
        while path:
            group, ways = path[-1]
            for other in ways:
                if index[other] < 0:
                    index[other] = low[other] = clock
                    clock += 1
                    stack.append(other)
                    path.append((other, iter(following[other])))
                    break
                if component[other] < 0:
                    low[group] = min(low[group], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[group])
                if low[group] == index[group]:
                    while component[group] < 0:
                        component[stack.pop()] = group
    return [component[label] for label in labels]
