"""What a sweep will do: its points, how many are stored already, and how long the others will take."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dse.points import DesignPoint, evaluate, scenario_of

if TYPE_CHECKING:
    from dse.config import Config

_PROBES = 5
_PROBE_SECONDS = 2.0  # no further probe after that
_KEPT_PROBES = 64


def design_points(config: Config) -> Iterator[DesignPoint]:
    """Enumerate the points of a configuration lazily: models, systems, further axes, then strategies.

    Raises:
        InputError: the space is empty, a value does not fit its field, or a program is missing.
    """
    base = scenario_of(config)
    for model, system, strategies in config.space.scenarios(config.models, config.systems):
        scenario = dataclasses.replace(base, model=model, system=system)
        for strategy in strategies:
            yield DesignPoint(scenario, strategy)


@dataclasses.dataclass(frozen=True)
class Survey:
    """How many points a sweep has, how many are stored, and some of those that are missing, evenly spread.

    `keys` are those of all points if none is missing, else empty.
    """

    points: int
    stored: int
    probes: tuple[DesignPoint, ...]
    keys: Sequence[str] = ()

    @property
    def missing(self) -> int:
        """Number of points that have to be evaluated."""
        return self.points - self.stored


def survey(points: Iterator[DesignPoint], known: set[str]) -> Survey:
    """Count points against the keys that are stored."""
    total = missing = 0
    stride = 1
    probes: list[DesignPoint] = []
    keys: list[str] = []
    for point in points:
        total += 1
        key = point.key
        if key in known:
            if not missing:
                keys.append(key)
            continue
        keys.clear()
        if missing % stride == 0:
            probes.append(point)
            if len(probes) > _KEPT_PROBES:
                probes, stride = probes[::2], stride * 2
        missing += 1
    return Survey(total, total - missing, tuple(probes), keys)


def estimated_seconds(found: Survey, cores: int) -> float | None:
    """Estimate the wall time of the missing points on so many cores, from a few of them; None if unknown.

    Unknown are points that external programs evaluate: a probe might take hours.
    """
    if not found.probes:
        return 0.0
    if found.probes[0].scenario.is_external:
        return None
    step = max(1, len(found.probes) // _PROBES)
    began = time.perf_counter()
    count = 0
    for point in found.probes[::step]:
        evaluate(point)
        count += 1
        if time.perf_counter() - began > _PROBE_SECONDS:
            break
    return (time.perf_counter() - began) / count * found.missing / min(cores, found.missing)
