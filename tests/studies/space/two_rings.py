"""A model and a system of two rings for the tests of this folder."""

from __future__ import annotations

from dse.inputs.models import ModelSpec
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec

TINY = ModelSpec("tiny", 4096, 4096, 1024, 4096, 16, 512, 32, 4)


def rings(*sizes: int) -> SystemSpec:
    algorithms = CollectiveAlgorithms(*[("ring",) * len(sizes)] * 4)
    network = tuple(Dimension("Ring", size, 100, 50) for size in sizes)
    return SystemSpec("rings", network, algorithms, 450, 3000)
