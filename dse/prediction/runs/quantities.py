"""Durations and rates of failures as users write them: `10 min`, `148 per 884736 npu-days`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dse.base.errors import InputError
from dse.base.texts import excerpt

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "week": 604800.0}
_TIME = re.compile(r"(-?\d{1,15}(?:\.\d{1,15})?)\s*(ms|s|min|h|d|days?|weeks?)", re.ASCII)
_RATE = re.compile(
    r"(\d{1,15}(?:\.\d{1,15})?) per (?:(\d{1,15}(?:\.\d{1,15})?) )?"
    r"(npu|nic|node|switch|job)-(hour|day|month|year)s?",
    re.ASCII,
)
_DAYS = {"hour": 1 / 24, "day": 1.0, "month": 365.25 / 12, "year": 365.25}
_RATE_EXAMPLES = "write 148 per 884736 npu-days, or 6.5 per 1000 node-days"
_Z80 = 1.2815515655446004  # the standard normal distribution has 80 % between minus and plus this


def parse_duration_s(text: str, key: str, *, least_s: float = 0.0) -> float:
    """Return the seconds of a duration such as `90 s`, `10 min`, `6 h` or `2 days`.

    Raises:
        InputError: no number with a unit of time, or below `least_s`; the message begins with `key`.
    """
    found = _TIME.fullmatch(str(text).strip())
    if found is None:
        raise InputError(
            f"{key} is '{excerpt(str(text))}'; write a number and a unit of time: ms, s, min, h, d or week"
        )
    seconds = float(found[1]) * SECONDS[found[2] if found[2] in SECONDS else found[2].removesuffix("s")]
    if seconds < least_s:
        raise InputError(f"{key} is '{excerpt(text)}'; it must be at least {least_s:g} s")
    return seconds


@dataclass(frozen=True)
class Rate:
    """`events` failures in `exposure_days` days of one `unit` (npu, nic, node, switch or job)."""

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
        """From how much to how much the rate may be, over its value, with 80 % confidence.

        For counted events, the chi-square interval of a Poisson mean (Garwood 1936) with the approximation of
        Wilson and Hilferty 1931; a rate without a count has no interval, which is (1, 1).
        """
        if not self.is_counted or self.events <= 0:
            return 1.0, 1.0
        low = _chi_square(2 * self.events, -_Z80) / 2
        high = _chi_square(2 * self.events + 2, _Z80) / 2
        return low / self.events, high / self.events


def parse_rate(text: str, key: str) -> Rate:
    """Return the rate that `text` stands for: events per time of one unit.

    Raises:
        InputError: no number, no unit, or no time; the message begins with `key`.
    """
    found = _RATE.fullmatch(" ".join(str(text).split()))
    if found is None:
        raise InputError(
            f"{key} is '{excerpt(str(text))}'; a rate has events per unit and time: {_RATE_EXAMPLES} "
            "(units npu, nic, node, switch, job; hour, day, month, year)"
        )
    events, count = float(found[1]), found[2]
    exposure = float(count or 1) * _DAYS[found[4]]
    if exposure <= 0:
        raise InputError(f"{key} is '{text}'; the time must be above 0")
    return Rate(events, exposure, found[3], count is not None and events == int(events))


def _chi_square(degrees: float, z: float) -> float:
    spread = 2 / (9 * degrees)
    return degrees * (1 - spread + z * math.sqrt(spread)) ** 3


_COUNT = re.compile(r"(\d{1,18}(?:\.\d{1,18})?(?:e\d{1,2})?)\s*([kKMGBT]?)", re.ASCII)
_POWERS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}


def parse_count(text: str, key: str) -> int:
    """Return the whole number that `15.6T`, `300B` or `1000000` stands for.

    Raises:
        InputError: no number, below 1, or above 10^18; the message begins with `key`.
    """
    found = _COUNT.fullmatch(text.strip())
    value = round(float(found[1]) * _POWERS[found[2]]) if found is not None else 0
    if not 1 <= value <= 10**18:
        raise InputError(
            f"{key} is '{excerpt(text)}'; write a number from 1 to 1e18, such as 15.6T, 300B or 1000000"
        )
    return value
