"""Failure rates of a machine by component, from conf/reliability or a file of the user's own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import NormalDist
from typing import Any

from dse.base.errors import InputError, excerpt, unknown
from dse.base.files import conf_file, conf_names
from dse.base.record_files import yaml_record
from dse.base.units import parse_duration_s
from dse.prediction.intervals.interval import SHARE

GROUP = "reliability"


@dataclass(frozen=True)
class Component:
    """One kind of failure: its rate, whether nodes must be replaced, and its own times, if any.

    With `takes_node` a failure takes a node, or all nodes of the domain that its rate is of.
    """

    rate: object  # a text; `parse_rate` says which units any other value lacks
    takes_node: bool
    detection: str | None = None
    restart: str | None = None


@dataclass(frozen=True)
class Reliability:
    """A file of conf/reliability.

    `detection` is the time from a failure to its being noticed, `restart` that until processes compute again
    but for reading the checkpoint, `repair` the mean time until a node is back. `domains` are the NPUs of a
    rack, a rail (NPUs of as many nodes, one of each) or an NVLink domain (default: those of a node).
    """

    name: str
    components: Mapping[str, Component]
    detection: str
    restart: str
    repair: str
    sources: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every rate and time; messages name the key."""
        for key in ("detection", "restart", "repair"):
            parse_duration_s(getattr(self, key), f"{GROUP}.{key}")
        if not self.components:
            raise InputError(f"{GROUP}.components is empty; give at least one, such as node: {{rate: …}}")
        for name, npus in self.domains.items():
            if name not in DOMAINS or npus < 1:
                raise InputError(
                    f"{GROUP}.domains has {excerpt(name)}: {npus}; allowed are {', '.join(DOMAINS)}, each "
                    "with the number of its NPUs"
                )
        for name, one in self.components.items():
            parse_rate(one.rate, f"{GROUP}.components.{name}.rate")
            for key in ("detection", "restart"):
                if (text := getattr(one, key)) is not None:
                    parse_duration_s(text, f"{GROUP}.components.{name}.{key}")

    @property
    def restart_s(self) -> float:
        """The time until processes compute again, but for reading the checkpoint."""
        return parse_duration_s(self.restart, f"{GROUP}.restart")

    @property
    def repair_s(self) -> float:
        """The mean time until a failed node is back."""
        return parse_duration_s(self.repair, f"{GROUP}.repair")

    def recovery_s(self, component: Component) -> float:
        """Return the time from a failure until processes compute again, but for reading the checkpoint."""
        detection_s = parse_duration_s(component.detection or self.detection, GROUP)
        return detection_s + parse_duration_s(component.restart or self.restart, GROUP)

    def record(self) -> dict[str, Any]:
        """Return the rates and times as the engine reads them.

        Counted rates are one Poisson count, whose ends with a confidence of 80 % are `low` and `high`.
        """
        rates = {name: parse_rate(one.rate, name) for name, one in self.components.items()}
        events = sum(rate.events for rate in rates.values() if rate.is_counted)
        low, high = Rate(events, 1.0, "job", is_counted=True).bounds
        return {
            "components": [
                {
                    "name": name,
                    "unit": rates[name].unit,
                    "per_second": rates[name].per_second,
                    "is_counted": rates[name].is_counted,
                    "recovery_s": self.recovery_s(one),
                    "takes_node": one.takes_node,
                }
                for name, one in self.components.items()
            ],
            "domains": dict(self.domains),
            "restart_s": self.restart_s,
            "repair_s": self.repair_s,
            "low": low,
            "high": high,
        }


def reliability_named(name: str) -> Reliability:
    """Return a file of conf/reliability, or one at a path.

    Raises:
        InputError: there is none, or a rate or time in it is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return yaml_record(Path(name).expanduser(), Reliability, GROUP)
    known = reliability_names()
    if name not in known:
        listing = f"conf/{GROUP} has {', '.join(known)}; or name a YAML file"
        raise InputError(unknown(f"{GROUP} is '{excerpt(name)}', which is unknown", name, known, listing))
    return yaml_record(conf_file(GROUP, name), Reliability, GROUP)


def reliability_names() -> tuple[str, ...]:
    """Return the names of the files of conf/reliability."""
    return conf_names(GROUP)


_RATE = re.compile(
    r"(\d{1,15}(?:\.\d{1,15})?) per (?:(\d{1,15}(?:\.\d{1,15})?) )?"
    r"(npu|nic|node|job|nvlink-domain|rack|rail)-(hour|day|month|year)s?",
    re.ASCII,
)
DOMAINS = ("nvlink-domain", "rack", "rail")
"""Units of several nodes, which fail as a whole."""
_DAYS = {"hour": 1 / 24, "day": 1.0, "month": 365.25 / 12, "year": 365.25}
_RATE_EXAMPLES = "write 148 per 884736 npu-days, or 6.5 per 1000 node-days"
_Z = NormalDist().inv_cdf((1 + SHARE) / 2)


@dataclass(frozen=True)
class Rate:
    """`events` failures in `exposure_days` days of one `unit` (npu, nic, node, job, or of `DOMAINS`)."""

    events: float
    exposure_days: float
    unit: str
    is_counted: bool

    @property
    def per_second(self) -> float:
        """Failures of one unit in a second."""
        return self.events / self.exposure_days / 86400.0

    @property
    def bounds(self) -> tuple[float, float]:
        """From how much to how much the rate may be, over its value, with a confidence of `SHARE`.

        For counted events, the chi-square interval of a Poisson mean (Garwood 1936) with the approximation of
        Wilson and Hilferty 1931; a rate without a count has no interval, which is (1, 1).
        """
        if not self.is_counted or self.events <= 0:
            return 1.0, 1.0
        low = _chi_square(2 * self.events, -_Z) / 2
        high = _chi_square(2 * self.events + 2, _Z) / 2
        return low / self.events, high / self.events


def parse_rate(text: object, key: str) -> Rate:
    """Return the rate that `text` stands for: events per time of one unit.

    Raises:
        InputError: no number, no unit, or no time; the message begins with `key`.
    """
    found = _RATE.fullmatch(" ".join(str(text).split()))
    if found is None:
        raise InputError(
            f"{key} is '{excerpt(str(text))}'; a rate has events per unit and time: {_RATE_EXAMPLES} "
            "(units npu, nic, node, job, nvlink-domain, rack, rail; hour, day, month, year)"
        )
    events, count = float(found[1]), found[2]
    exposure = float(count or 1) * _DAYS[found[4]]
    if exposure <= 0:
        raise InputError(f"{key} is '{text}'; the time must be above 0")
    return Rate(events, exposure, found[3], count is not None and events == int(events))


def _chi_square(degrees: float, z: float) -> float:
    spread = 2 / (9 * degrees)
    return degrees * (1 - spread + z * math.sqrt(spread)) ** 3
