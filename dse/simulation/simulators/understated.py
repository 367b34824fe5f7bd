"""Where the congestion-unaware model charges too little: messages that cross slower dimensions.

As in the reference, a message is charged for the lowest dimension in which the addresses of its ends differ
(docs/simulator.md). Phases of collectives over all NPUs stay within a dimension. The ring
of any other communicator group, one logical ring over all NPUs, and sends between stages need not.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from pathlib import Path
from typing import NamedTuple

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import GROUPED, Strategy
from dse.inputs.systems import Dimension, SystemSpec, is_synthesized, read_graph

_BYTES_PER_NS = 2**30 / 1e9  # of a network GB/s


class _Links(NamedTuple):
    """The slowest links of a dimension."""

    bytes_per_ns: float
    latency_ns: float


def understated_communication(model: ModelSpec, strategy: Strategy, system: SystemSpec) -> str | None:
    """Return which communication of a generated workload has slower links than it is charged for, or None.

    Slower are links of less bandwidth or more latency. Crossing a dimension of equal links costs one hop too
    little, which is not reported.

    Raises:
        InputError: a file of links cannot be read.
    """
    if system.network_model != "congestion_unaware" or system.replay_only or len(system.network) == 1:
        return None
    links = [_slowest(dimension) for dimension in system.network]
    shape = tuple(dimension.npus for dimension in system.network)
    slower = {
        (low, high)
        for low, high in itertools.combinations(range(len(links)), 2)
        if links[high].bytes_per_ns < links[low].bytes_per_ns
        or links[high].latency_ns > links[low].latency_ns
    }
    if not slower:
        return None
    texts = []
    for axis, degree, stride, is_ring in _neighbours(model, strategy, system):
        pairs = slower & _crossings(shape, stride, degree, is_ring)
        if pairs:
            charged, skipped = _listed({low for low, _ in pairs}), _listed({high for _, high in pairs})
            texts.append(f"{axis} {degree} is charged for dimension {charged}, not for {skipped}")
    return "; ".join(texts) or None


class _Neighbours(NamedTuple):
    """Ranks of an axis that send to each other: `stride` apart, and with `is_ring` the last to the first."""

    axis: str
    degree: int
    stride: int
    is_ring: bool


def _neighbours(model: ModelSpec, strategy: Strategy, system: SystemSpec) -> list[_Neighbours]:
    found = []
    stride = 1
    rings = not _all_synthesized(system)
    for axis in GROUPED:
        degree = getattr(strategy, axis)
        if rings and degree > 1 and (degree < system.npus or _has_logical_ring(system)):
            found.append(_Neighbours(axis, degree, stride, True))
        stride *= degree
    if strategy.pp > 1:
        goes_round = not model.resolved_repairs.contiguous_stages and model.num_layers + 2 > strategy.pp
        found.append(_Neighbours("pp", strategy.pp, stride, goes_round))
    return found


def _has_logical_ring(system: SystemSpec) -> bool:
    lists = dataclasses.astuple(system.collectives)
    return any(name.startswith("one") for names in lists for name in names)


def _all_synthesized(system: SystemSpec) -> bool:
    """Whether groups have schedules, which count every link, instead of rings."""
    lists = dataclasses.astuple(system.collectives)
    return all(any(map(is_synthesized, names)) for names in lists)


def _slowest(dimension: Dimension) -> _Links:
    if dimension.file is None:
        return _Links(dimension.bandwidth_gbps * _BYTES_PER_NS, dimension.latency_ns)
    links = read_graph(Path(dimension.file)).links
    return _Links(min(link.bandwidth_bytes_per_ns for link in links), max(link.latency_ns for link in links))


@functools.lru_cache(maxsize=1024)
def _crossings(shape: tuple[int, ...], stride: int, degree: int, is_ring: bool) -> frozenset[tuple[int, int]]:
    """Return pairs of the dimension that is charged and one that is crossed too, of neighbours in groups.

    A group has `degree` ranks, `stride` apart; a rank's neighbour is the next one, the first of the last.
    """
    import numpy as np

    source = np.arange(math.prod(shape))
    is_last = source // stride % degree == degree - 1
    target = np.where(is_last, source - (degree - 1) * stride, source + stride)
    if not is_ring:
        source, target = source[~is_last], target[~is_last]
    differing = []
    for size in shape:
        differing.append(source % size != target % size)
        source, target = source // size, target // size
    pairs = set()
    unmet = np.ones_like(differing[0])  # no lower dimension differs
    for low, differs in enumerate(differing):
        is_charged = unmet & differs
        unmet &= ~differs
        higher = range(low + 1, len(shape))
        pairs |= {(low, high) for high in higher if (is_charged & differing[high]).any()}
    return frozenset(pairs)


def _listed(dimensions: set[int]) -> str:
    return " and ".join(map(str, sorted(dimensions)))
