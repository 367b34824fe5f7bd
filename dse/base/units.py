"""Bytes, durations and counts: parsing what users write, formatting what they read."""

from __future__ import annotations

import re
from fractions import Fraction

from dse.base.errors import InputError, excerpt

_BYTES_PER_UNIT = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_QUANTITY = re.compile(
    r"(?P<number>-?(?P<digits>\d{1,20}(\.\d{0,20})?|\.\d{1,20})([eE](?P<power>[+-]?\d{1,2}))?)"
    r"\s*(?P<unit>[A-Za-z]*)",
    re.ASCII,
)
_MAX_BYTES = 2**63 - 1
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "week": 604800.0}
_TIME = re.compile(r"(-?\d{1,15}(?:\.\d{1,15})?)\s*(ms|s|min|h|d|days?|weeks?)", re.ASCII)
_COUNT = re.compile(r"(\d{1,18}(?:\.\d{1,18})?(?:e\d{1,2})?)\s*([kKMGBT]?)", re.ASCII)
_POWERS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9, "T": 10**12}
_LONG = ((2 * 86400.0, 86400.0, "days"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"))
_ALLOWED = "a positive number and one of the units B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, such as 80GB"


def parse_bytes(text: str, key: str = "size") -> int:
    """Return the bytes that `text` stands for: 80GB is 80e9 bytes, 80GiB is 80 x 2^30 bytes.

    Units are B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024), in any case; blanks
    may stand before the unit; a fraction of a byte is cut off. 1e3GB is 1000GB.

    Raises:
        InputError: not a positive number of bytes below 2^63, or no unit; the message begins with `key`.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        raise InputError(f"{key} '{excerpt(text)}' is not a number of bytes; write {_ALLOWED}")
    number, unit = match["number"], match["unit"]
    if not unit and Fraction(number) <= 0:
        raise InputError(f"{key} '{text}' is not above 0; write {_ALLOWED}")
    if not unit:
        raise InputError(
            f"{key} '{text}' has no unit; "
            f"write {number}GB ({match['digits']}e{int(match['power'] or 0) + 9} bytes) or {number}GiB "
            f"({number} x 2^30 bytes)"
        )
    if unit.lower() not in _BYTES_PER_UNIT:
        raise InputError(f"{key} '{text}' has the unknown unit '{unit}'; write {_ALLOWED}")
    size_bytes = int(Fraction(number) * _BYTES_PER_UNIT[unit.lower()])
    if not 1 <= size_bytes <= _MAX_BYTES:
        raise InputError(f"{key} '{text}' is {size_bytes} bytes; it must be from 1 to {_MAX_BYTES} bytes")
    return size_bytes


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
    seconds = float(found[1]) * _SECONDS[found[2] if found[2] in _SECONDS else found[2].removesuffix("s")]
    if seconds < least_s:
        raise InputError(f"{key} is '{excerpt(text)}'; it must be at least {least_s:g} s")
    return seconds


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


def format_bytes(size_bytes: float) -> str:
    """Return a size for people, in powers of 1000 with two decimals: 67022880768 gives "67.02 GB"."""
    if size_bytes < 1000:
        return f"{size_bytes:.0f} B"
    value = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if round(value, 2) < 1000:
            return f"{value:.2f} {unit}"
    return f"{value / 1000:.2f} TB"


def format_duration_ns(duration_ns: float) -> str:
    """Return a duration for people with four significant digits: 4088264658 gives "4.088 s"."""
    value = float(duration_ns)
    for unit in ("ns", "µs", "ms"):
        if float(f"{value:.4g}") < 1000:
            return f"{value:.4g} {unit}"
        value /= 1000
    return f"{value:.4g} s" if value < 9999.5 else f"{value:.0f} s"


def format_time(seconds: float) -> str:
    """Return a duration of any length with three digits: `67.1 days`, `3.09 h`, `11 s`, `5.42 ms`."""
    for least, unit_s, name in _LONG:
        if seconds >= least:
            count = seconds / unit_s
            return f"{count:,.0f} {name}" if count >= 1000 else f"{count:.3g} {name}"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds else "no time"


def duration_range(low_ns: float, high_ns: float) -> str:
    """Return a range of durations for people.

    >>> duration_range(15_100_000_000, 18_420_000_000)
    '15.1 to 18.42 s'
    """
    low, high = format_duration_ns(low_ns).split(), format_duration_ns(high_ns).split()
    return f"{low[0]} to {' '.join(high)}" if low[1] == high[1] else f"{' '.join(low)} to {' '.join(high)}"


def format_count(value: float) -> str:
    """Return a number for people with four significant digits: 329612.4 gives "329.6k"."""
    for unit in ("", "k", "M", "G"):
        if float(f"{value:.4g}") < 1000:
            return f"{value:.4g}{unit}"
        value /= 1000
    return f"{value:.4g}T"
