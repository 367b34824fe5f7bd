"""The plan of a sweep: its points, how many are stored already, and how long the others will take."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence, Set

import numpy as np

from dse.inputs.strategies.columns import Strategies
from dse.studies.config import Config
from dse.studies.points import DesignPoint, scenario_of
from dse.studies.points.blocks import PointBlock, SpacePoints, blocks_of
from dse.studies.store.history import KEY_BYTES
from dse.studies.sweeps.estimate import BUDGET_S, PROBES, Estimate, Kind, estimate, measured

_KEPT_BYTES = 128 << 20
_SCENARIO_BYTES, _POINT_BYTES = 16 << 10, 64  # with specs as texts; codes of axes, and the key


def design_points(config: Config) -> SpacePoints:
    """Enumerate the points of a configuration lazily: models, systems, further axes, then strategies.

    Raises:
        InputError: the space is empty, a value does not fit its field, or a program is missing.
    """
    return SpacePoints(_blocks(config))


class Enumeration:
    """The points of a configuration, as often as they are asked for: enumerated once if memory allows."""

    def __init__(self, config: Config) -> None:
        """Enumerate nothing yet."""
        self._config = config
        self._kept: list[PointBlock] | None = None

    def __call__(self) -> SpacePoints:
        """Return the points from the beginning; see `design_points`."""
        return SpacePoints(self._remembered() if self._kept is None else self._kept)

    def _remembered(self) -> Iterator[PointBlock]:
        kept: list[PointBlock] = []
        left_bytes = _KEPT_BYTES
        for block in _blocks(self._config):
            left_bytes -= _SCENARIO_BYTES + _POINT_BYTES * len(block)
            if left_bytes >= 0:
                kept.append(block)
            else:
                kept.clear()
            yield block
        if left_bytes >= 0:
            self._kept = kept


def _blocks(config: Config) -> Iterator[PointBlock]:
    base = scenario_of(config)
    for model, system, strategies in config.space.scenarios(config.models, config.systems):
        yield PointBlock(dataclasses.replace(base, model=model, system=system), Strategies.of(strategies))


@dataclasses.dataclass(frozen=True)
class Survey:
    """How many points a sweep has, how many are stored, and the kinds of those that are missing.

    `keys` are those of all points if none is missing, else empty; `is_external` says whether programs of the
    user's own evaluate points; `digits` are those of all keys (`dse.studies.store.history.key_digits`).
    """

    points: int
    stored: int
    kinds: tuple[Kind, ...]
    keys: Sequence[str] = ()
    is_external: bool = False
    digits: bytes = b""

    @property
    def missing(self) -> int:
        """Number of points that have to be evaluated."""
        return self.points - self.stored


def survey(points: Iterable[DesignPoint], known: Set[str]) -> Survey:
    """Count points against the keys that are stored."""
    total = missing = 0
    kinds: dict[tuple[int, int, int], Kind] = {}
    keys: list[str] = []
    is_external = False
    digits = bytearray()
    for block in blocks_of(points):
        total += len(block)
        digits += block.hashes[:, :KEY_BYTES].tobytes()
        rest = block
        if known:
            own = block.keys
            stored = np.array([key in known for key in own], bool)
            keys += itertools.compress(own, stored.tolist()) if not missing else ()
            rest = block.take(~stored)
        if not len(rest):
            continue
        keys.clear()
        missing += len(rest)
        is_external = is_external or block.scenario.is_external
        _add_kinds(kinds, rest)
    return Survey(total, total - missing, tuple(kinds.values()), keys, is_external, bytes(digits))


def _add_kinds(kinds: dict[tuple[int, int, int], Kind], block: PointBlock) -> None:
    """Count the points of a block by what they cost."""
    method = block.scenario.method
    firsts, number_of = block.strategies.kinds(("pp", *method.cost_axes))
    of_kind: dict[tuple[int, int, int], list[int]] = {}
    for number, strategy in enumerate(block.strategies.take(firsts)):
        point = DesignPoint(block.scenario, strategy)
        units, ranks = method.cost_units(point), method.slow_ranks(point)
        stages = point.strategy.pp if method.costs_by_stages else 0
        of_kind.setdefault((units, ranks, stages), []).append(number)
    for kind, numbers in of_kind.items():
        places = np.flatnonzero(np.isin(number_of, numbers))
        kinds.setdefault(kind, Kind(*kind[:2])).add(places.tolist(), block.point)


def estimated(found: Survey, cores: int, samples: int | None = None, probes: int = PROBES) -> Estimate | None:
    """Estimate the wall time of the missing points, or of `samples` of them; None if unknown.

    Unknown are points that external programs evaluate: one of them might take hours.
    """
    if found.is_external:
        return None
    if not found.missing:
        return Estimate(0.0, 0.0, 0.0)
    probe = found.kinds[0].probes[0]
    probe.scenario.method.load()
    if probe.scenario.in_blocks:
        measured(probe, BUDGET_S)  # what is loaded for the first prediction is no part of the others
    share = 1.0 if samples is None else min(1.0, samples / found.missing)
    return estimate(list(found.kinds), cores, share=share, probes=probes)


def estimated_seconds(found: Survey, cores: int) -> float | None:
    """Return the likely wall time of the missing points, from few of them; None if unknown."""
    answer = estimated(found, cores, probes=2)
    return None if answer is None else answer.likely_s
