"""Random small points: every topology, up to three dimensions, both fidelities, the axes of traces."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec
from dse.studies.points import Scenario

_TOPOLOGIES: tuple[tuple[str, int, tuple[int, ...], str], ...] = (
    ("Ring", 4, (), ""),
    ("Ring", 2, (), ""),
    ("FullyConnected", 4, (), ""),
    ("Switch", 4, (), ""),
    ("Mesh2D", 8, (4, 2), ""),
    ("Torus2D", 8, (2, 4), ""),
    ("Torus3D", 8, (2, 2, 2), ""),
    ("Hypercube", 8, (), ""),
    ("FatTree", 8, (2, 4, 2), "deterministic"),
    ("FatTree", 8, (2, 4, 2), "ecmp"),
    ("Dragonfly", 8, (2, 2, 2), ""),
)
_ALGORITHMS = ("ring", "direct", "halvingDoubling", "doubleBinaryTree")
_MOST_NPUS = 16


def small_scenarios(count: int, seed: int) -> Iterator[tuple[Scenario, list[Strategy]]]:
    """Scenarios, each with some strategies that fill it; every topology comes first in one of them."""
    rng = random.Random(seed)
    for number in range(count):
        system = _system(rng, _TOPOLOGIES[number % len(_TOPOLOGIES)])
        model = _model(rng, "realistic" if number % 3 == 2 else "stage")
        divisibility = rng.choice([None, None, "whole", "strict"])
        yield Scenario("small", model, system, divisibility), _strategies(rng, system.npus)


def _system(rng: random.Random, first: tuple[str, int, tuple[int, ...], str]) -> SystemSpec:
    chosen = [first]
    while math.prod(entry[1] for entry in chosen) * 4 <= _MOST_NPUS and rng.random() < 0.6:
        chosen.append(rng.choice(_TOPOLOGIES[:4]))
    network = tuple(
        Dimension(name, npus, rng.choice([12.5, 50.0, 100.0]), rng.choice([0.0, 50.0, 500.5]), shape, routing)
        for name, npus, shape, routing in chosen
    )
    names = [tuple(rng.choice(_ALGORITHMS) for _ in network) for _ in range(4)]
    return SystemSpec(
        "small",
        network,
        CollectiveAlgorithms(*names),
        peak_tflops=rng.choice([45.0, 312.5]),
        memory_bandwidth_gbps=rng.choice([300.0, 2039.0]),
        endpoint_delay_ns=rng.choice([0, 10, 1000]),
        active_chunks_per_dimension=rng.choice([1, 4]),
        preferred_dataset_splits=rng.choice([1, 4, 10]),
        collective_optimization=rng.choice(["baseline", "localBWAware"]),
        queues_per_dimension=rng.choice([1, 2]),
        rendezvous_protocol=rng.random() < 0.2,
        track_local_memory=rng.random() < 0.8,
    )


def _model(rng: random.Random, fidelity: str) -> ModelSpec:
    heads = rng.choice([4, 8, 16])
    return ModelSpec(
        "small",
        input_dim=rng.choice([1000, 4096]),
        output_dim=4096,
        d_model=64 * heads,
        d_ff=rng.choice([512, 1536]),
        num_heads=heads,
        seq_len=rng.choice([128, 512]),
        batch_size=rng.choice([16, 32]),
        num_layers=rng.choice([2, 4, 5]),
        num_kv_heads=rng.choice([None, heads // 2]),
        gated_mlp=rng.random() < 0.5,
        fidelity=fidelity,
    )


def _strategies(rng: random.Random, npus: int) -> list[Strategy]:
    """Some that fill the NPUs, and one that does not."""
    degrees = [2**power for power in range(5)]
    filling = [
        (dp, tp, sp, npus // (dp * tp * sp))
        for dp in degrees
        for tp in degrees
        for sp in degrees
        if npus % (dp * tp * sp) == 0
    ]
    found = []
    for degrees in rng.sample(filling, min(5, len(filling))):
        flags = rng.random() < 0.5, rng.random() < 0.5
        found.append(Strategy(*degrees, weight_sharded=flags[0], activation_recompute=flags[1]))
    return [*found, Strategy(dp=2 * npus)]
