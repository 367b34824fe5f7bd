"""Rates of failures as users write them, such as `148 per 884736 npu-days`, and how sure they are."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from statistics import NormalDist

from dse.base.errors import InputError
from dse.base.texts import excerpt
from dse.prediction.intervals.interval import SHARE

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
