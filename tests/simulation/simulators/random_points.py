"""Random small points, on which many things happen in one tick; and the comparison of two ways to simulate.

Delays are mostly multiples of one grid, so that computations, messages and collectives end together: that is
where simulating one rank for many could go wrong.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from dse.base.errors import DseError
from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Derating, Dimension, LinkFault, SystemSpec
from dse.native import _engine
from dse.simulation.simulators.native import native_system
from dse.simulation.workloads import DEFAULT_REFERENCE, Reference, generate

MOST_RANKS = 48
BYTE_PER_NS = 10**9 / 2**30  # of a network, in its GB/s; exact in binary
_RANK_FIELDS = [name for name in vars(_engine.RankResult) if not name.startswith("_")]
_ALIKE = ("ring", "ring", "direct", "halvingDoubling")
_SPECIAL = (
    *("direct1", "direct2", "direct3", "doubleBinaryTree"),
    *("oneRing", "oneDirect", "oneDirect2", "oneHalvingDoubling"),
)


@dataclass(frozen=True)
class Point:
    """What is simulated; its `repr` is enough to run it again."""

    model: ModelSpec
    strategy: Strategy
    system: SystemSpec
    reference: Reference = DEFAULT_REFERENCE

    def workload(self) -> _engine.Workload:
        return generate(self.model, self.strategy).native

    def simulate(self, method: _engine.Method) -> _engine.SimulationResult | str:
        """Return the result, or the text of the error that the engine raises."""
        config = native_system(self.system)
        config.set_reference(self.reference)
        try:
            return _engine.simulate(self.workload(), config, method)
        except (DseError, RuntimeError) as error:  # RuntimeError: symmetry was assumed and cannot be
            return f"{type(error).__name__}: {error}"


@dataclass(frozen=True)
class Comparison:
    """What two methods gave, and how they differ."""

    differences: list[str]
    by_classes: bool = False
    obstacle: str = ""
    deadlock: bool = False
    error: str = ""


def compare(point: Point, method: _engine.Method = _engine.Method.AUTO) -> Comparison:
    """Simulate with `method` and with the general engine."""
    got, truth = point.simulate(method), point.simulate(_engine.Method.GENERAL)
    if isinstance(got, str) or isinstance(truth, str):
        errors = [result if isinstance(result, str) else "no error" for result in (got, truth)]
        return Comparison([] if errors[0] == errors[1] else [" instead of ".join(errors)], error=errors[1])
    return Comparison(differences(got, truth), got.by_classes, got.obstacle, truth.deadlock)


def differences(got: _engine.SimulationResult, truth: _engine.SimulationResult) -> list[str]:
    """Return every difference between two results, down to single figures of single ranks.

    Blocked nodes are known for one rank of a class only: they are compared on the ranks that `got` reports,
    and the ranks that do not finish on all.
    """
    found = []
    for what in ("deadlock", "class_of_rank"):
        if getattr(got, what) != getattr(truth, what):
            found.append(f"{what}: {getattr(got, what)} instead of {getattr(truth, what)}")
    ranks = range(len(truth.class_of_rank))
    for rank in ranks:
        mine, other = (result.classes[result.class_of_rank[rank]] for result in (got, truth))
        for name in _RANK_FIELDS:
            a, b = getattr(mine, name), getattr(other, name)
            if a != b:
                found.append(f"rank {rank}, {name}: {a} instead of {b}")
    blocked, blocked_truth = _blocked(got), _blocked(truth)
    found += [
        f"rank {rank} is blocked by {nodes} instead of {blocked_truth.get(rank)}"
        for rank, nodes in blocked.items()
        if nodes != blocked_truth.get(rank)
    ]
    unfinished = {rank for rank in ranks if not got.classes[got.class_of_rank[rank]].finished}
    if {got.class_of_rank[rank] for rank in blocked} != {got.class_of_rank[rank] for rank in unfinished}:
        found.append(f"blocked nodes on ranks {sorted(blocked)}, unfinished are {sorted(unfinished)}")
    return found


def _blocked(result: _engine.SimulationResult) -> dict[int, list[tuple[object, ...]]]:
    nodes: dict[int, list[tuple[object, ...]]] = {}
    for node in result.blocked:
        what = (node.node_id, node.name, node.kind, node.communicator, tuple(node.peers), node.cause)
        nodes.setdefault(node.rank, []).append(what)
    return nodes


def random_point(rng: random.Random) -> Point:
    """Draw a point: any strategy that fills the network, any algorithm, mostly without an obstacle."""
    sizes = _sizes(rng)
    strategy = _strategy(rng, math.prod(sizes))
    whole = max(strategy.dp, strategy.tp, strategy.sp) == strategy.npus
    model = _model(rng, strategy)
    return Point(model, strategy, _system(rng, sizes, model, whole=whole))


def tied_point(rng: random.Random) -> Point:
    """Draw a tiny point with sharded weights, where the order of events in a tick decides most often.

    That is about one point in 2000, against one in 5000 of `random_point` at fifteen times the cost.
    """
    npus = rng.choice([2, 2, 4])
    degrees = rng.choice([(npus, 1, 1), (1, npus, 1), (1, 1, npus), (2, 1, npus // 2), (1, 2, npus // 2)])
    strategy = Strategy(*degrees, weight_sharded=True)
    widths = [rng.choice([4, 8, 16, 32]) for _ in range(4)]
    tokens = (rng.choice([4, 8, 16]), rng.choice([4, 8]))
    model = ModelSpec("tied", *widths, 1, *tokens, rng.choice([2, 3, 4]))
    return Point(model, strategy, _system(rng, [npus], model, whole=True))


def small_point(rng: random.Random) -> Point:
    """Draw sizes of 1 to 4 over pipeline stages: tensors that cross stages are often cut to nothing."""
    pp = rng.choice([2, 2, 3, 4])
    degrees = rng.choice(
        [(1, 1, 1), (2, 1, 1), (1, 2, 1), (4, 1, 1), (1, 1, 4), (2, 2, 1), (2, 1, 4), (4, 1, 3)]
    )
    strategy = Strategy(*degrees, pp, rng.random() < 0.2, rng.random() < 0.5)
    sizes = [rng.randint(1, 4) for _ in range(7)]
    model = ModelSpec("small", *sizes, rng.choice([pp, pp + 1, pp + 2]))
    on = _system(rng, _split(rng, strategy.npus), model, whole=False)
    return Point(model, strategy, replace(on, preferred_dataset_splits=rng.choice([1, 1, 1, 2])))


def extreme_point(rng: random.Random) -> Point:
    """Draw a point of the kinds above, and put some of its numbers to the ends of what is allowed."""
    point = rng.choice([random_point, random_point, tied_point, small_point])(rng)
    on, npus = point.system, point.system.npus
    changes: dict[str, object] = {}
    for field, values in _EXTREMES.items():
        if rng.random() < 0.15:
            changes[field] = rng.choice(values)
    network = list(on.network)
    for index, dimension in enumerate(network):
        if rng.random() < 0.4:
            network[index] = replace(
                dimension,
                bandwidth_gbps=rng.choice([dimension.bandwidth_gbps, *_SMALL, 1e-6, *_LARGE]),
                latency_ns=rng.choice([dimension.latency_ns, *_LATENCIES]),
            )
    if rng.random() < 0.2:
        factors = [rng.choice([*_SMALL, 0.5, 0.9, 1.0, *_LARGE]) for _ in range(2)]
        changes["deratings"] = (Derating(rng.randrange(npus), *factors),)
    if rng.random() < 0.15:
        changes["network_model"] = "congestion_aware"
        if rng.random() < 0.5:
            to = network[0].npus if network[0].topology == "Switch" and len(network) == 1 else 1
            factors = [rng.choice([*_SMALL, 0.5, *_LARGE]) for _ in range(2)]
            at_ns = rng.choice([0, 1, 100, 2**53 - 1])
            changes["faults"] = (LinkFault(0, to, False, *factors, at_ns),)
    system = replace(on, network=tuple(network), **changes)  # type: ignore[arg-type]
    return replace(point, model=_extreme_model(rng, point.model, point.strategy), system=system)


_SMALL = (5e-324, 1e-300, 1e-12)
_LARGE = (1e15, 1e30)
_LATENCIES = (0.0, 5e-324, 0.999, 1e12, 2.0**52, 2.0**53 - 1)
_EXTREMES = {
    "peak_tflops": (*_SMALL, *_LARGE),
    "memory_bandwidth_gbps": (*_SMALL, *_LARGE),
    "endpoint_delay_ns": (0, 1, 2**31 - 1),
    "active_chunks_per_dimension": (1, 2**31 - 1),
    "preferred_dataset_splits": (1, 29),
    "queues_per_dimension": (1, 2, 1000),
}


def _extreme_model(rng: random.Random, model: ModelSpec, strategy: Strategy) -> ModelSpec:
    if rng.random() < 0.1:
        field = rng.choice(["input_dim", "d_model", "d_ff", "num_heads", "seq_len", "batch_size"])
        model = replace(model, **{field: rng.choice([1, 2**20, 2**40, 2**62, 2**63 - 1])})
    if rng.random() < 0.1 and strategy.pp <= model.num_layers:
        model = replace(model, fidelity="realistic")
    return model


def _split(rng: random.Random, npus: int) -> list[int]:
    """Return the sizes of one or two dimensions."""
    divisors = [n for n in range(2, npus) if npus % n == 0]
    if not divisors or rng.random() < 0.5:
        return [npus]
    first = rng.choice(divisors)
    return [first, npus // first]


def seeded_points(
    seed: int, count: int, draw: Callable[[random.Random], Point] = random_point
) -> Iterator[Point]:
    """Draw the same points for the same seed on every machine."""
    rng = random.Random(seed)
    return (draw(rng) for _ in range(count))


def points() -> st.SearchStrategy[Point]:
    """The same draw as a strategy of hypothesis, which makes a failing point smaller."""
    return st.builds(random_point, st.randoms(use_true_random=False))


def _sizes(rng: random.Random) -> list[int]:
    sizes: list[int] = []
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        size = rng.choice([2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 16])
        while size > 2 and math.prod(sizes) * size > MOST_RANKS:
            size = max(2, size // 2)
        if math.prod(sizes) * size <= MOST_RANKS:
            sizes.append(size)
    return sizes


def _strategy(rng: random.Random, npus: int) -> Strategy:
    degrees = [1, 1, 1, 1]
    factors = [prime for prime in (2, 3, 5) for power in range(1, 6) if npus % prime**power == 0]
    whole = rng.random() < 0.25  # one axis of all ranks: collectives in the dimensions of the network
    axis = rng.randrange(3)
    for factor in factors:
        degrees[axis if whole else rng.randrange(4)] *= factor
    switches = (rng.random() < 0.4, rng.random() < 0.5)
    return Strategy(*degrees, weight_sharded=switches[0], activation_recompute=switches[1])


def _model(rng: random.Random, strategy: Strategy) -> ModelSpec:
    least = max(2, strategy.pp - 2)
    layers = rng.choice([least, least, least + 1, least + 2, least + 3])
    heads = rng.choice([1, 2, 4, 8])
    if rng.random() < 0.15:  # sizes that do not divide
        sizes = [rng.randrange(1, 200) for _ in range(6)]
    else:
        scale = rng.choice([1, 1, 8, 64])
        sizes = [scale * rng.choice([1, 2, 4, 8]) * 4 for _ in range(6)]
        sizes[2] *= heads
    return ModelSpec("random", *sizes[:2], sizes[2], sizes[3], heads, *sizes[4:], layers)


def _system(rng: random.Random, sizes: list[int], model: ModelSpec, *, whole: bool) -> SystemSpec:
    speeds = _grid(rng, model, math.prod(sizes)) if rng.random() < 0.7 else _anything(rng)
    topologies = rng.choice(
        [("Ring",), ("Switch",), ("FullyConnected",), ("Ring", "FullyConnected", "Switch")]
    )
    one_speed = rng.random() < 0.5
    network = [Dimension(rng.choice(topologies), size, *_link(rng, speeds)) for size in sizes]
    if one_speed:
        network = [replace(network[0], topology=d.topology, npus=d.npus) for d in network]
    rare = rng.random()
    return SystemSpec(
        name="random",
        network=tuple(network),
        collectives=_algorithms(rng, sizes, whole=whole),
        peak_tflops=speeds.peak_tflops,
        memory_bandwidth_gbps=speeds.memory_gbps,
        endpoint_delay_ns=speeds.endpoint_ns,
        active_chunks_per_dimension=rng.choice([1, 1, 2, 4, 8]),
        preferred_dataset_splits=rng.choice([1, 1, 2, 3, 4, 10]),
        collective_optimization=rng.choice(["baseline", "localBWAware"]),
        queues_per_dimension=2 if rare < 0.03 else 1,
        rendezvous_protocol=0.03 < rare < 0.05,
        roofline_enabled=not 0.05 < rare < 0.07,
    )


@dataclass(frozen=True)
class _Speeds:
    gbps: tuple[float, ...]
    latency_ns: tuple[float, ...]
    peak_tflops: float
    memory_gbps: float
    endpoint_ns: int


def _grid(rng: random.Random, model: ModelSpec, npus: int) -> _Speeds:
    """Durations that are small multiples of one number: 10 as often as not, the endpoint delay of sub-groups.

    Activations of a rank take a few times that number, in memory, on a link and in computation.
    """
    grid = rng.choice([1, 10, 10, 10, 16, 100])
    activation = max(1, model.batch_size * model.seq_len * model.d_model // npus)
    speed = activation / grid
    steps = [0.25, 0.5, 1, 1, 2, 4, 8]
    gbps = [BYTE_PER_NS * speed * rng.choice([*steps, 10**6]) for _ in range(2)]
    operations = speed * model.d_ff * rng.choice([*steps, 10**6, 10**6])
    return _Speeds(
        tuple(gbps[: rng.choice([1, 1, 2])]),
        rng.choice([(grid,), (grid, 2 * grid), (2 * grid,), (0, grid), (5 * grid, 10 * grid)]),
        operations / 1000,
        speed * rng.choice([*steps, 10**3]),
        rng.choice([grid, grid, 10, 1, 2 * grid]),
    )


def _anything(rng: random.Random) -> _Speeds:
    return _Speeds(
        (0.5, 1, 1, 10, 100),
        rng.choice([(0,), (1,), (0, 1, 5, 10, 50), (500.5, 10)]),
        rng.choice([0.0001, 0.001, 0.01, 1]),
        rng.choice([0.1, 1, 1, 10, 100]),
        rng.choice([1, 2, 3, 5, 7, 10, 10, 50, 100]),
    )


def _link(rng: random.Random, speeds: _Speeds) -> tuple[float, float]:
    return rng.choice(speeds.gbps), rng.choice(speeds.latency_ns)


def _algorithms(rng: random.Random, sizes: list[int], *, whole: bool) -> CollectiveAlgorithms:
    special = rng.random() < (0.3 if whole else 0.1)
    lists = []
    for kind in range(4):
        names = [rng.choice(_ALIKE if kind < 3 else _ALIKE[:3]) for _ in sizes]
        names = [
            "ring" if name == "halvingDoubling" and size & (size - 1) else name
            for name, size in zip(names, sizes, strict=True)
        ]
        if special:
            names[rng.randrange(len(names))] = rng.choice(_SPECIAL)
            names = names[: rng.choice([1, len(names), len(names)])]
        lists.append(tuple(names))
    return CollectiveAlgorithms(*lists)
