"""The plan of a sweep: its points, how many are stored already, and how long the others will take."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dse.studies.points import DesignPoint, scenario_of
from dse.studies.store.history import key_digits
from dse.studies.sweeps.estimate import PROBES, Estimate, Kind, estimate

if TYPE_CHECKING:
    from dse.studies.config import Config


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


def survey(points: Iterator[DesignPoint], known: set[str]) -> Survey:
    """Count points against the keys that are stored."""
    total = missing = 0
    kinds: dict[tuple[int, int, int], Kind] = {}
    keys: list[str] = []
    is_external = False
    digits = bytearray()
    for point in points:
        total += 1
        key = point.key
        digits += key_digits(key)
        if key in known:
            if not missing:
                keys.append(key)
            continue
        keys.clear()
        missing += 1
        is_external = is_external or point.scenario.is_external
        method = point.scenario.method
        units, ranks = method.cost_units(point), method.slow_ranks(point)
        kinds.setdefault((units, ranks, point.strategy.pp), Kind(units, ranks)).add(point)
    return Survey(total, total - missing, tuple(kinds.values()), keys, is_external, bytes(digits))


def estimated(found: Survey, cores: int, samples: int | None = None, probes: int = PROBES) -> Estimate | None:
    """Estimate the wall time of the missing points, or of `samples` of them; None if unknown.

    Unknown are points that external programs evaluate: one of them might take hours.
    """
    if found.is_external:
        return None
    if not found.missing:
        return Estimate(0.0, 0.0, 0.0)
    found.kinds[0].probes[0].scenario.method.load()
    share = 1.0 if samples is None else min(1.0, samples / found.missing)
    return estimate(list(found.kinds), cores, share=share, probes=probes)


def estimated_seconds(found: Survey, cores: int) -> float | None:
    """Return the likely wall time of the missing points, from few of them; None if unknown."""
    answer = estimated(found, cores, probes=2)
    return None if answer is None else answer.likely_s
