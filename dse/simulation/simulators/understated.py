"""Where the congestion-unaware model charges too little: messages that cross slower dimensions.

As in the reference, a message is charged for the lowest dimension in which the addresses of its ends differ
(docs/simulator.md). Phases of collectives over all NPUs stay within a dimension. The ring
of any other communicator group, one logical ring over all NPUs, and sends between stages need not. The rule
itself is in the engine, because pages ask for it too.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dse.inputs.models import ModelSpec
from dse.inputs.strategies import GROUPED, Strategy
from dse.inputs.systems import CollectiveAlgorithms, Dimension, SystemSpec, is_synthesized, read_graph

_BYTES_PER_NS = 2**30 / 1e9  # of a network GB/s


def understated_communication(model: ModelSpec, strategy: Strategy, system: SystemSpec) -> str | None:
    """Return which communication of a generated workload has slower links than it is charged for, or None.

    Slower are links of less bandwidth or more latency. Crossing a dimension of equal links costs one hop too
    little, which is not reported.

    Raises:
        InputError: a file of links cannot be read.
    """
    degrees = tuple([getattr(strategy, axis) for axis in GROUPED])
    return next(iter(understated_by_degrees(model, [(*degrees, strategy.pp)], system)))


def understated_by_degrees(
    model: ModelSpec, degrees: Iterable[Sequence[int]], system: SystemSpec
) -> Iterator[str | None]:
    """Return the same of strategies by their degrees on the axes `GROUPED`, and their stages.

    Raises:
        InputError: as `understated_communication`.
    """
    if system.network_model != "congestion_unaware" or system.replay_only or len(system.network) == 1:
        yield from (None for _ in degrees)
        return
    has_logical_ring, groups_are_rings = _rings_of(system.collectives)
    dimensions = tuple(map(_slowest, system.network))
    is_contiguous = model.resolved_repairs.contiguous_stages
    for *own, pp in degrees:
        strides = [1, *itertools.accumulate(own, operator.mul)]
        rings = tuple(zip(GROUPED, own, strides, strict=False)) if groups_are_rings else ()
        goes_round = not is_contiguous and model.num_layers + 2 > pp
        yield _in_engine(dimensions, rings, pp, goes_round, has_logical_ring)


@functools.lru_cache(maxsize=1024)
def _in_engine(
    dimensions: tuple[tuple[int, float, float], ...],
    rings: tuple[tuple[str, int, int], ...],
    pp: int,
    stages_go_round: bool,
    has_logical_ring: bool,
) -> str | None:
    from dse.native._engine import understated_communication as understated

    return understated(dimensions, rings, pp, stages_go_round, has_logical_ring) or None


@functools.lru_cache(maxsize=1024)
def _rings_of(collectives: CollectiveAlgorithms) -> tuple[bool, bool]:
    """Whether groups of all NPUs are one logical ring, and whether other groups are rings.

    Groups with schedules are none: schedules count every link.
    """
    lists = dataclasses.astuple(collectives)
    has_logical_ring = any(name.startswith("one") for names in lists for name in names)
    return has_logical_ring, not all(any(map(is_synthesized, names)) for names in lists)


def _slowest(dimension: Dimension) -> tuple[int, float, float]:
    """NPUs of a dimension, and the bandwidth in bytes per ns and latency in ns of its slowest links."""
    if dimension.file is None:
        return dimension.npus, dimension.bandwidth_gbps * _BYTES_PER_NS, dimension.latency_ns
    links = read_graph(Path(dimension.file)).links
    bandwidth = min(link.bandwidth_bytes_per_ns for link in links)
    return dimension.npus, bandwidth, max(link.latency_ns for link in links)
